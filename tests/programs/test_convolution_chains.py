"""Chains of convolutions fused row by row: results equal eager's for every number of threads and
images, and do not depend on the number of threads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
import torch
from torch import Tensor, nn

import ingot
from ingot.kernels.convolution import depth_first as chains
from ingot.machine import this_machine
from tests.programs.check import by_threads

pytestmark = pytest.mark.timeout(300)


class Inverted(nn.Module):
    """Inverted residual: 1×1 expansion, depthwise convolution, 1×1 projection, and a residual if
    shapes match."""

    def __init__(self, channels: int, width: int, stride: int, window: int = 3, dilation: int = 1):
        super().__init__()
        reach = dilation * (window - 1) // 2
        self.up = nn.Conv2d(channels, width, 1)
        self.each = nn.Conv2d(width, width, window, stride, reach, dilation, groups=width)
        self.down = nn.Conv2d(width, channels, 1)
        self.residual = stride == 1

    def forward(self, x: Tensor) -> Tensor:
        y = self.down(self.each(self.up(x).relu()).clamp(0, 6))
        return x + y if self.residual else y


def small_caches() -> Any:
    """Simulate a machine whose caches are so small that a chain pays for small images."""
    small = replace(this_machine(), l2_bytes=1 << 12)
    return mock.patch.object(chains, "this_machine", lambda: small)


made: list[chains.DepthFirst] = []


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    made.clear()
    launches = chains.DepthFirst.launches

    def noted(self: chains.DepthFirst, sizes: Any) -> Any:
        made.append(self)
        return launches(self, sizes)

    monkeypatch.setattr(chains.DepthFirst, "launches", noted)


def check(module: nn.Module, x: Tensor) -> None:
    with torch.no_grad(), small_caches():
        compiled = ingot.compile(module.eval(), (x,), options={"strict": True})
        results = by_threads(lambda: compiled(x), (2, 1))
        torch.testing.assert_close(results[0], module(x), rtol=1e-4, atol=1e-4, equal_nan=True)
    for result in results[1:]:
        assert torch.equal(result.nan_to_num(), results[0].nan_to_num())


@pytest.mark.parametrize("images", [1, 3])
@pytest.mark.parametrize(
    ("stride", "window", "dilation"), [(1, 3, 1), (2, 3, 1), (1, 5, 1), (1, 3, 2), (3, 3, 1)]
)
def test_three_stages(images: int, stride: int, window: int, dilation: int) -> None:
    torch.manual_seed(0)
    check(Inverted(8, 40, stride, window, dilation), torch.randn(images, 8, 120, 17))
    assert [len(chain.stages) for chain in made] == [3]


def test_several_chains_and_odd_widths() -> None:
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 20, 3, 2, 1), nn.ReLU6(), nn.Conv2d(20, 20, 3, 1, 1, groups=20)]
    module = nn.Sequential(*layers, nn.Conv2d(20, 9, 1), Inverted(9, 50, 2), Inverted(9, 30, 1))
    check(module, torch.randn(2, 3, 200, 63))
    assert len(made) >= 2


def test_values_that_are_not_finite() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 8, 100, 20)
    x[0, 3, 0, 0], x[1, 2, 99, 19], x[0, 1, 50, 7] = float("inf"), float("nan"), -float("inf")
    check(Inverted(8, 40, 1), x)
    assert made


def test_a_result_that_others_read_is_no_stage() -> None:
    class Read(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up = nn.Conv2d(8, 40, 1)
            self.each = nn.Conv2d(40, 40, 3, 1, 1, groups=40)

        def forward(self, x: Tensor) -> Tensor:
            y = self.up(x).relu()
            return self.each(y).sum() + y.amax()

    torch.manual_seed(0)
    check(Read(), torch.randn(1, 8, 100, 20))
    assert not made


def test_an_image_that_is_overwritten() -> None:
    class Over(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inverted(8, 40, 2)

        def forward(self, x: Tensor) -> Tensor:
            up = self.inner.up(x).relu()
            x.mul_(2)
            return self.inner.down(self.inner.each(up))

    torch.manual_seed(0)
    module, x = Over().eval(), torch.randn(1, 8, 100, 20)
    with torch.no_grad(), small_caches():
        compiled = torch.compile(module, backend="ingot", fullgraph=True)
        copy = x.clone()
        torch.testing.assert_close(compiled(x), module(copy), rtol=1e-4, atol=1e-4)
        assert torch.equal(x, copy)


def test_changed_weights_are_noticed() -> None:
    torch.manual_seed(0)
    module, x = Inverted(8, 40, 1).eval(), torch.randn(1, 8, 100, 20)
    with torch.no_grad(), small_caches():
        compiled = ingot.compile(module, (x,), options={"strict": True})
        compiled(x)
        module.each.weight.mul_(2)
        torch.testing.assert_close(compiled(x), module(x), rtol=1e-4, atol=1e-4)
