"""argmax of long rows: the first of equal values, NaN before all others, for any contents and
number of threads."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

import pytest
import torch
from torch import Tensor

import ingot
from tests.programs.check import by_threads

LENGTHS = [4096, 8191, 32_000]
FLOATS = [torch.float32, torch.float64, torch.bfloat16]
WHOLE = [torch.int64, torch.int8]


def check(function: Callable[[Tensor], Tensor], x: Tensor) -> None:
    compiled = ingot.compile(function, (x,), options={"strict": True})
    for result in by_threads(lambda: compiled(x)):
        assert torch.equal(result, function(x))


@torch.no_grad()
@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE], ids=str)
@pytest.mark.parametrize("length", LENGTHS)
def test_first_of_equals(length: int, dtype: torch.dtype) -> None:
    """Few distinct values, each occurring often in every row."""
    x = torch.randint(-3, 4, (67, length)).to(dtype)
    x[0] = 1
    check(lambda x: x.argmax(-1), x)
    check(lambda x: x.argmin(-1), x)


@torch.no_grad()
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("rows", [1, 67])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_places_of_the_best(dtype: torch.dtype, rows: int, length: int) -> None:
    """At block and row boundaries, with NaN and infinity, once and twice."""
    places = [0, 1, 255, 256, 257, 4095, length - 1, length // 2]
    for worst, best in ((0, 1), (0, inf), (0, nan), (-inf, -1), (-inf, nan), (inf, nan), (0, 0)):
        x = torch.full((rows, length), worst, dtype=dtype)
        for k in range(rows):
            x[k, places[k % len(places)]] = best
            x[k, -1 - k % 5] = best
        compiled = ingot.compile(lambda x: x.max(-1), (x,), options={"strict": True})
        values, positions = compiled(x)
        assert torch.equal(values, x.max(-1).values) or values.isnan().equal(
            x.max(-1).values.isnan()
        )
        assert torch.equal(positions, x.max(-1).indices)
        assert torch.equal((-x).argmin(-1), positions)


@torch.no_grad()
def test_of_what_is_computed() -> None:
    x = torch.randn(65, 9000)
    check(lambda x: (x * 3 - x[:, :1]).argmax(-1), x)
    check(lambda x: torch.nn.functional.pad(x, (7, 9), value=9.0).argmax(-1), x)
    check(lambda x: x.reshape(65, 90, 100).flatten(1).argmin(-1), x)
    check(lambda x: torch.stack([x.argmax(-1), x.argmin(-1)]), x)
    check(lambda x: x.flatten().argmax(), x)
    check(lambda x: x.softmax(-1).argmax(-1), x)
    check(lambda x: (x > 0).long().cumsum(-1).argmax(-1), x)
    check(lambda x: torch.stack([x.argmax(-1), (x > 1).sum(-1)]), x)
