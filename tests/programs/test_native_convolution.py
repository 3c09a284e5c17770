"""Native convolutions: fused producers and epilogues (norms, sums, clamps, padding), Winograd,
pools, patches and concatenated images. After any change of a weight, the result is that of the
current weight.
"""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim

import ingot
from ingot import observe
from ingot.kernels.convolution.winograd import TransformedPanels
from ingot.runtime import table
from ingot.stages import Compiled
from tests.plans import plan_of

pytestmark = pytest.mark.timeout(300)
TOLERANCE = {"rtol": 1e-4, "atol": 1e-4}


def is_transformed(graph: Compiled) -> bool:
    """Whether weights are packed for Winograd's transform."""
    return any(isinstance(r.packing, TransformedPanels) for r in plan_of(graph).recipes)


def settled(module: nn.Module) -> nn.Module:
    for name, buffer in module.named_buffers():
        if name.endswith("running_var"):
            buffer.uniform_(0.5, 1.5)
        elif name.endswith("running_mean"):
            buffer.normal_(0.0, 0.3)
    return module.eval()


def compiled(module: nn.Module, *args: Tensor) -> tuple[Callable[..., Tensor], Compiled]:
    found: list[Compiled] = []
    torch._dynamo.reset()
    fast = torch.compile(module, backend="ingot", fullgraph=True, options={"strict": True})
    with observe.listening(found.append), torch.no_grad():
        got, wanted = fast(*args), module(*args)
        torch.testing.assert_close(got, wanted, equal_nan=True, **TOLERANCE)
    (graph,) = found
    return fast, graph


def assert_native(graph: Compiled) -> None:
    """No op is called through PyTorch."""
    assert "op" not in graph.source, graph.source


class Block(nn.Module):
    """A convolution with everything that can be fused into it."""

    def __init__(self, channels: int, width: int, window: int = 3, groups: int = 1):
        super().__init__()
        self.first = nn.Conv2d(channels, width, 1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        pad = window // 2
        self.second = nn.Conv2d(width, width, window, padding=pad, groups=groups)
        self.last = nn.Conv2d(width, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu6(self.norm(self.first(x)))
        y = F.hardtanh(self.second(y) + y, -0.5, 0.7)
        return (self.last(y) + x).relu()


@pytest.mark.parametrize(("height", "width"), [(1, 1), (2, 9), (12, 16), (13, 8)])
@pytest.mark.parametrize("groups", [1, 2, 48])
def test_block(height: int, width: int, groups: int) -> None:
    module = settled(Block(32, 48, groups=groups))
    _, graph = compiled(module, torch.randn(2, 32, height, width))
    assert_native(graph)


@pytest.mark.parametrize(("channels", "window"), [(1, 3), (5, 5), (17, 1), (40, (1, 5))])
def test_odd_sizes(channels: int, window: int | tuple[int, int]) -> None:
    layer = nn.Conv2d(channels, channels + 2, window, stride=(2, 1), padding=(0, 2))
    module = nn.Sequential(layer, nn.ReLU(), nn.Conv2d(channels + 2, 3, 2))
    _, graph = compiled(module.eval(), torch.randn(3, channels, 11, 10))
    assert_native(graph)


@pytest.mark.parametrize(("channels", "width"), [(32, 32), (80, 64), (288, 96)])
def test_winograd(channels: int, width: int) -> None:
    module = nn.Sequential(
        nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 8, 3)
    ).eval()
    x = torch.randn(2, channels, 14, 10)
    fast, graph = compiled(module, x)
    assert is_transformed(graph)
    with torch.no_grad():
        ours, eager = fast(x), module(x)
        truth = module.double()(x.double())
    assert (ours - truth).abs().max() <= 2 * (eager - truth).abs().max() + 1e-6


INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("value", [INF, -INF, NAN])
@pytest.mark.parametrize("last", [nn.Identity(), nn.ReLU6()])
def test_values_that_are_not_finite(value: float, last: nn.Module) -> None:
    """Non-finite values reach the same pixels as in eager, unchanged."""
    layer = nn.Conv2d(32, 32, 3, padding=1)
    module = nn.Sequential(nn.Conv2d(32, 32, 1), layer, last, nn.Conv2d(32, 8, 1)).eval()
    with torch.no_grad():
        module[0].weight.copy_(torch.eye(32)[:, :, None, None])
        layer.weight[5, :, 1, 1] = 0
    x = torch.randn(2, 32, 16, 12)
    for at in ((0, 3, 0, 0), (1, 7, 5, 6), (1, 7, 6, 11), (0, 3, 15, 4)):
        x[at] = value
    _, graph = compiled(module, x)
    assert is_transformed(graph)


def test_sums_of_large_values_do_not_overflow() -> None:
    module = nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.Conv2d(32, 32, 3, padding=1)).eval()
    x = torch.randn(1, 32, 16, 12)
    fast, _ = compiled(module, x)
    x[0, 5, 7:9, 5:7] = 3e38
    with torch.no_grad():
        got, wanted = fast(x), module(x)
    assert wanted.isfinite().all()
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=float(1e-6 * wanted.abs().max()))


@pytest.mark.parametrize("value", [INF, NAN])
def test_weights_that_are_not_finite(value: float) -> None:
    module = nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.Conv2d(32, 32, 3, padding=1))
    with torch.no_grad():
        module[0].weight[3, 4, 1, 2] = value
    compiled(module.eval(), torch.randn(1, 32, 12, 12))


def test_double() -> None:
    module = settled(Block(32, 48)).double()
    x = torch.randn(1, 32, 8, 8, dtype=torch.float64)
    fast, graph = compiled(module, x)
    assert_native(graph)
    with torch.no_grad():
        torch.testing.assert_close(fast(x), module(x), rtol=1e-12, atol=1e-12)


def test_no_images() -> None:
    compiled(settled(Block(32, 48)), torch.randn(0, 32, 8, 8))


def test_any_number_of_images() -> None:
    module = settled(Block(8, 16))
    fast = torch.compile(module, backend="ingot", dynamic=True, options={"strict": True})
    with torch.no_grad():
        for images in (2, 3, 5):
            x = torch.randn(images, 8, 9, 9)
            torch.testing.assert_close(fast(x), module(x), **TOLERANCE)


SIZES = [(2, 9, 9), (1, 8, 12), (3, 16, 10), (1, 1, 1), (2, 2, 33), (0, 8, 8), (5, 14, 14)]
A = Dim.AUTO


class Pooled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(8, 24, 3, padding=1)
        self.second = nn.Conv2d(24, 8, 5, stride=2, padding=2, dilation=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(F.max_pool2d(self.first(x).relu(), 3, 2, 1)).flatten(2).amax(2)


UP = nn.Sequential(nn.Conv2d(8, 16, 1), nn.ReLU(), nn.ConvTranspose2d(16, 8, 4, 2, 1))


@pytest.mark.parametrize(
    "module",
    [Block(8, 32), Block(8, 48, groups=2), Block(8, 32, window=5, groups=32), Pooled(), UP],
    ids=["plain", "groups", "depthwise", "pooled", "transposed"],
)
def test_sizes_that_move(module: nn.Module) -> None:
    """One program for all sizes, without calls to PyTorch."""
    settled(module)
    first = torch.randn(2, 8, 9, 9)
    with torch.no_grad():
        fast = ingot.compile(module, (first,), dynamic_shapes=({0: A, 2: A, 3: A},))
        assert_native(fast.compiled)
        for batch, height, width in SIZES:
            x = torch.randn(batch, 8, height, width)
            torch.testing.assert_close(fast(x), module(x), **TOLERANCE)


def test_images_that_are_too_small() -> None:
    module = nn.Sequential(nn.Conv2d(8, 8, 1), nn.Conv2d(8, 8, 5)).eval()
    with torch.no_grad():
        fast = torch.compile(module, backend="ingot", fullgraph=True, dynamic=True)
        for size in (9, 5, 4):
            x = torch.randn(2, 8, size, 7)
            if size < 5:
                with pytest.raises(RuntimeError, match="Kernel size can't be greater"):
                    fast(x)
            else:
                torch.testing.assert_close(fast(x), module(x), **TOLERANCE)


def test_images_of_many_sizes_are_forgotten() -> None:
    """The cache of per-size data is bounded."""
    module = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(8, 4, 1)).eval()
    with torch.no_grad(), mock.patch.object(table, "MOST_HELD", 1 << 16):
        fast = ingot.compile(module, (torch.randn(2, 4, 9, 9),), dynamic_shapes=({2: A, 3: A},))
        for size in range(20, 60):
            x = torch.randn(2, 4, size, size + 1)
            torch.testing.assert_close(fast(x), module(x), **TOLERANCE)
    (kept,) = fast.compiled.segments
    assert 1 <= len(kept._tables) < 10


class Shared(nn.Module):
    """A result padded in two ways, read directly, and returned."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(16, 16, 3, padding=1)
        self.narrow = nn.Conv2d(16, 16, 3, padding=1)
        self.wide = nn.Conv2d(16, 16, 5, padding=2, groups=16)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.first(x).relu()
        z = self.first(y).relu()
        return z, self.narrow(y) + self.wide(y) + y + self.wide(z)


def test_a_result_with_many_readers() -> None:
    module, x = Shared().eval(), torch.randn(2, 16, 7, 6)
    fast = torch.compile(module, backend="ingot", fullgraph=True, options={"strict": True})
    with torch.no_grad():
        for got, wanted in zip(fast(x), module(x), strict=True):
            torch.testing.assert_close(got, wanted, **TOLERANCE)
            assert got.stride() == wanted.stride()


@pytest.mark.parametrize("first", [nn.ReLU(), nn.Identity()])
@pytest.mark.parametrize(("window", "stride", "padding"), [(2, 2, 0), (3, 2, 1), ((3, 2), 1, 1)])
def test_pools(first: nn.Module, window: int, stride: int, padding: int) -> None:
    pool = nn.MaxPool2d(window, stride, padding)
    module = nn.Sequential(nn.Conv2d(3, 24, 3), first, pool, nn.Conv2d(24, 8, 1)).eval()
    x = torch.randn(2, 3, 11, 12)
    _, graph = compiled(module, x)
    assert_native(graph)
    x[1, 2, 4, 5] = float("nan")
    compiled(module, x)


class Joined(nn.Module):
    """Upsample by patches, concatenate with another image, convolve."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(3, 16, 3, padding=1)
        self.inner = nn.Conv2d(16, 24, 2, stride=2)
        self.up = nn.ConvTranspose2d(24, 20, 2, 2)
        self.norm = nn.BatchNorm2d(20)
        self.last = nn.Conv2d(36, 8, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.down(x).relu()
        y = self.norm(self.up(self.inner(x).relu()))
        return self.last(torch.cat([x, y], 1)).relu()


def test_patches_and_joined_images() -> None:
    _, graph = compiled(settled(Joined()), torch.randn(2, 3, 8, 12))
    assert_native(graph)


LAYERS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "line": (nn.Conv1d(16, 24, 5, stride=2, padding=2), (33,)),
    "dilated line": (nn.Conv1d(16, 24, 3, dilation=3, padding=3, groups=2), (33,)),
    "each channel of a line": (nn.Conv1d(16, 16, 7, padding=3, groups=16), (33,)),
    "room": (nn.Conv3d(16, 24, (3, 2, 3), stride=(1, 2, 1), padding=(1, 0, 1)), (5, 6, 7)),
    "each channel of a room": (nn.Conv3d(16, 16, 3, padding=1, groups=16), (5, 6, 7)),
    "line, transposed": (nn.ConvTranspose1d(16, 24, 16, 8, 4), (9,)),
    "transposed": (nn.ConvTranspose2d(16, 24, 4, 2, 1), (6, 7)),
    "transposed, with more": (nn.ConvTranspose2d(16, 24, 6, 2, 2, 1, bias=False), (6, 7)),
    "transposed, turned around": (nn.ConvTranspose2d(16, 24, 3, 1, 1, groups=2), (6, 7)),
    "transposed, dilated": (nn.ConvTranspose2d(16, 24, 3, 1, 1, dilation=2), (6, 7)),
    "room, transposed": (nn.ConvTranspose3d(16, 24, (2, 4, 4), 2, (0, 1, 1)), (3, 4, 5)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_any_form(name: str) -> None:
    layer, space = LAYERS[name]
    kind = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}[len(space)]
    module = nn.Sequential(kind(16, 16, 1), nn.ReLU(), layer, nn.ReLU6()).eval()
    _, graph = compiled(module, torch.randn(2, 16, *space))
    assert_native(graph)


@pytest.mark.parametrize("name", ["transposed", "transposed, turned around"])
def test_transposed_with_weights_that_lie_otherwise(name: str) -> None:
    layer, space = LAYERS[name]
    last = torch.channels_last
    module = nn.Sequential(nn.Conv2d(16, 16, 1), layer).eval().to(memory_format=last)
    _, graph = compiled(module, torch.randn(2, 16, *space).contiguous(memory_format=last))
    assert_native(graph)


def scale_statistics(module: Block) -> None:
    module.norm.running_var.mul_(2)
    module.norm.running_mean.add_(1)


def load(module: Block) -> None:
    module.load_state_dict({k: v + 1 for k, v in module.state_dict().items()})


def replace_weight(module: Block) -> None:
    assert module.norm.weight is not None
    module.norm.weight.data = torch.rand_like(module.norm.weight)


def step(module: Block) -> None:
    for parameter in module.parameters():
        parameter.grad = torch.ones_like(parameter)
    torch.optim.SGD(module.parameters(), lr=0.01).step()


@pytest.mark.parametrize("change", [scale_statistics, load, replace_weight, step])
def test_changes_are_noticed(change: Callable[[nn.Module], None]) -> None:
    module, x = settled(Block(32, 48)), torch.randn(1, 32, 8, 8)
    fast, _ = compiled(module, x)
    with torch.no_grad():
        for _ in range(3):
            change(module)
            wanted = module(x)
            torch.testing.assert_close(fast(x), wanted, rtol=1e-4, atol=1e-4 * wanted.abs().max())
