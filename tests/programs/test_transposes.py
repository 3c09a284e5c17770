"""Loop nests with transposed reads: square tiles in registers, their edges, and ops computed on the
tiles."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import ingot
from tests.programs.check import by_threads

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int8, torch.bool]
SHAPES = [(1, 40), (3, 700), (15, 17), (64, 64), (33, 129), (513, 65), (130, 1025), (40, 2)]
MIXED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "one plain": lambda x, y: x.t() * 2 + y,
    "both crosswise": lambda x, y: x.t() - y.t().contiguous().t(),
    "another type": lambda x, y: x.t().to(torch.float64) + y,
    "part of it": lambda x, y: x[3:, :-1].t().sin() + y[:-1, 3:],
}


def values(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    return torch.randint(-100, 100, shape).to(dtype)


def check(function: Callable[..., Tensor], *inputs: Tensor) -> None:
    compiled = ingot.compile(function, inputs, options={"strict": True})
    for result in by_threads(lambda: compiled(*inputs)):
        torch.testing.assert_close(result, function(*inputs), rtol=1e-6, atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_transpose(shape: tuple[int, int], dtype: torch.dtype) -> None:
    check(lambda x: x.t().contiguous(), values(shape, dtype))


@torch.no_grad()
@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("shape", [(48, 64), (37, 530)], ids=str)
def test_computed_on_the_way(name: str, shape: tuple[int, int]) -> None:
    check(MIXED[name], torch.randn(shape), torch.randn(shape[::-1]))


@torch.no_grad()
@pytest.mark.parametrize("order", [(0, 2, 3, 1), (0, 3, 1, 2), (3, 2, 1, 0)], ids=str)
def test_images(order: tuple[int, ...]) -> None:
    check(lambda x: x.permute(order).contiguous(), torch.randn(2, 19, 23, 34))
