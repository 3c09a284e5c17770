"""Convolutional networks with frozen weights: channels-last inside, with native kernels."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor, nn

from ingot import observe
from ingot.stages import Compiled

pytestmark = pytest.mark.timeout(300)


def compiled(module: nn.Module, x: Tensor) -> Compiled:
    """Compile and compare values and strides with eager, for two images."""
    found: list[Compiled] = []
    fast = torch.compile(module, backend="ingot", fullgraph=True, options={"strict": True})
    with observe.listening(found.append), torch.no_grad():
        for image in (x, torch.randn_like(x)):
            got, wanted = fast(image), module(image)
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)
            assert got.stride() == wanted.stride()
    (graph,) = found
    return graph


def between(layer: nn.Module, channels: int, last: int) -> nn.Module:
    """The layer between two others, which makes a channels-last region profitable."""
    module = nn.Sequential(
        nn.Conv2d(3, channels, 1), nn.ReLU(), layer, nn.BatchNorm2d(last), nn.ReLU6(),
        nn.Conv2d(last, 5, 1),
    )  # fmt: skip
    for buffer in module.buffers():
        if buffer.is_floating_point():
            buffer.uniform_(0.5, 1.5)
    return module.eval()


WINDOWS = [1, 3, (1, 3), (5, 2)]


@pytest.mark.parametrize(
    ("window", "stride", "dilation"), itertools.product(WINDOWS, [1, 2], [1, 2])
)
@pytest.mark.parametrize("groups", [1, 24, 4])
def test_layers(window: int | tuple[int, int], stride: int, dilation: int, groups: int) -> None:
    for padding, bias in ((0, False), (1, True)):
        layer = nn.Conv2d(
            24, 24, window, stride, padding, dilation=dilation, groups=groups, bias=bias
        )
        compiled(between(layer, 24, 24), torch.randn(2, 3, 14, 13))


@pytest.mark.parametrize("channels", [16, 17, 33])
def test_odd_channels(channels: int) -> None:
    layer = nn.Conv2d(channels, channels + 3, 3, padding=1)
    compiled(between(layer, channels, channels + 3), torch.randn(1, 3, 9, 9))


def test_transposed_and_padding_modes() -> None:
    compiled(between(nn.ConvTranspose2d(16, 8, 3, 2), 16, 8), torch.randn(1, 3, 8, 8))
    circular = nn.Conv2d(16, 8, 3, padding=1, padding_mode="circular")
    compiled(between(circular, 16, 8), torch.randn(1, 3, 8, 8))


def test_native() -> None:
    """A 3×3, a strided 1×1 and a depthwise convolution, without calls to PyTorch."""
    block = nn.Sequential(
        nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.ReLU(), nn.Conv2d(32, 16, 1, stride=2),
        nn.ReLU(),
    ).eval()  # fmt: skip
    graph = compiled(block, torch.randn(2, 16, 10, 10))
    assert "op" not in graph.source, graph.source


def test_results_that_are_not_pointwise() -> None:
    """A pool reads the convolution's result directly."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(3, 24, 3, padding=1)
            self.second = nn.Conv2d(24, 24, 3, padding=1)

        def forward(self, x: Tensor) -> Tensor:
            y = nn.functional.max_pool2d(self.first(x), 2)
            z = self.second(y)
            return torch.cat([z, y], 1).sum((2, 3)) + z.flatten(1).amax(1, keepdim=True)

    compiled(Net().eval(), torch.randn(2, 3, 12, 12))


def test_changed_weights() -> None:
    module = between(nn.Conv2d(24, 24, 3, padding=1), 24, 24)
    x = torch.randn(1, 3, 8, 8)
    fast = torch.compile(module, backend="ingot")
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(fast(x), module(x), rtol=1e-4, atol=1e-4)
            for parameter in module.parameters():
                parameter.add_(0.01)


def test_weights_that_are_computed() -> None:
    """A convolution with computed weights runs in PyTorch, even if an earlier pass planned
    otherwise."""
    layer = nn.utils.parametrizations.weight_norm(nn.Conv2d(24, 24, 3, padding=1))
    compiled(between(layer, 24, 24), torch.randn(2, 3, 8, 8))
