"""Functional pooling: the stride defaults to the kernel size."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .check import check

POOLS: dict[str, Callable[[Tensor], object]] = {
    "max_pool2d": lambda x: F.max_pool2d(x, 4),
    "max_pool2d pair": lambda x: F.max_pool2d(x, (2, 4)),
    "max_pool2d stride none": lambda x: F.max_pool2d(x, 2, stride=None),
    "max_pool2d indices": lambda x: F.max_pool2d(x, 2, return_indices=True),
    "max_pool2d ceil": lambda x: F.max_pool2d(x, 3, ceil_mode=True),
    "max_pool2d dilation": lambda x: F.max_pool2d(x, 2, 1, 0, 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 4),
    "avg_pool2d pair": lambda x: F.avg_pool2d(x, (2, 4)),
    "avg_pool2d padding": lambda x: F.avg_pool2d(x, 3, padding=1, count_include_pad=False),
    "avg_pool2d divisor": lambda x: F.avg_pool2d(x, 2, divisor_override=3),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 1),
    "adaptive_avg_pool2d uneven": lambda x: F.adaptive_avg_pool2d(x, (3, 5)),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 3),
    "lp_pool2d": lambda x: F.lp_pool2d(x, 2.0, 2),
    "max_pool1d": lambda x: F.max_pool1d(x.flatten(2), 4),
    "avg_pool1d": lambda x: F.avg_pool1d(x.flatten(2), 4),
    "max_pool3d": lambda x: F.max_pool3d(x, 2),
    "avg_pool3d": lambda x: F.avg_pool3d(x, 2),
    "upsample nearest": lambda x: F.interpolate(x, scale_factor=2),
    "upsample bilinear": lambda x: F.interpolate(x, size=(5, 7), mode="bilinear"),
    "pixel shuffle": lambda x: F.pixel_shuffle(x, 2),
}


@pytest.mark.parametrize("name", POOLS)
def test_inference(name: str) -> None:
    check(POOLS[name], torch.randn(2, 4, 8, 12))


@pytest.mark.parametrize("name", POOLS)
def test_training(name: str) -> None:
    check(POOLS[name], torch.randn(2, 4, 8, 12, requires_grad=True), grad=True)


@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d", "adaptive_avg_pool2d uneven"])
def test_channels_last(name: str) -> None:
    x = torch.randn(2, 4, 8, 12).to(memory_format=torch.channels_last)
    check(lambda x: torch.relu(POOLS[name](x.relu())), x)  # type: ignore[arg-type]


def test_unpooling() -> None:
    def there_and_back(x: Tensor) -> Tensor:
        y, where = F.max_pool2d(x, 2, return_indices=True)
        return F.max_unpool2d(y, where, 2)

    check(there_and_back, torch.randn(1, 2, 6, 6))


def test_module_with_functional_pool() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3)

        def forward(self, x: Tensor) -> Tensor:
            return F.max_pool2d(F.relu(self.conv(x)), 2).mean()

    check(Net(), torch.randn(2, 3, 10, 10), grad=True)
