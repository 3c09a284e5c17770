"""Gathers along the vectorised dimension: scalar loads if all indices are in bounds, otherwise
eager's result or error."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import ingot
from tests.programs.check import by_threads

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.uint8]
ROWS, SIZE = 6, 90
LOOKED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "gathered": lambda x, i: x.gather(-1, i),
    "gathered and used": lambda x, i: x.gather(-1, i) + x[:, : i.size(1)],
    "from one row": lambda x, i: x[0][i] * 2,
    "down": lambda x, i: x.t()[i[0]].t(),
    "columns": lambda x, i: x[:, i[0]] * 3,
    "every second": lambda x, i: x[:, ::2].gather(-1, i // 2),
    "twice": lambda x, i: x.gather(-1, i) + x[1][i],
    "picked": lambda x, i: x.index_select(-1, i[1]),
    "summed": lambda x, i: x.gather(-1, i).sum(-1),
}


def table(dtype: torch.dtype) -> Tensor:
    return torch.randint(0, 100, (ROWS, SIZE), generator=torch.Generator().manual_seed(1)).to(dtype)


@torch.no_grad()
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", LOOKED)
def test_looked_up(name: str, dtype: torch.dtype) -> None:
    x, function = table(dtype), LOOKED[name]
    for length in (1, 15, 64, 90):
        at = torch.randint(0, SIZE, (ROWS, length), generator=torch.Generator().manual_seed(2))
        compiled = ingot.compile(function, (x, at), options={"strict": True})
        for result in by_threads(lambda: compiled(x, at)):  # noqa: B023
            torch.testing.assert_close(result, function(x, at))


@torch.no_grad()
@pytest.mark.parametrize("kind", [torch.int64, torch.int32], ids=str)
def test_from_the_end(kind: torch.dtype) -> None:
    """Some vectors contain negative indices, others none."""
    x = torch.randn(500)
    at = torch.randint(0, 500, (4, 300)).to(kind)
    at[1, 77], at[2] = -1, at[2] - 500
    compiled = ingot.compile(lambda x, i: x[i], (x, at), options={"strict": True})
    assert torch.equal(compiled(x, at), x[at])


@torch.no_grad()
@pytest.mark.parametrize("wrong", [SIZE, -1, 1 << 40, -(1 << 62)])
@pytest.mark.parametrize("column", [0, 40, 63, 89])
def test_outside(column: int, wrong: int) -> None:
    x, at = table(torch.float32), torch.zeros(ROWS, SIZE, dtype=torch.int64)
    compiled = ingot.compile(lambda x, i: x.gather(-1, i), (x, at), options={"strict": True})
    assert torch.equal(compiled(x, at), x.gather(-1, at))
    at[2, column] = wrong
    with pytest.raises(RuntimeError):
        x.gather(-1, at)
    with pytest.raises(RuntimeError):
        compiled(x, at)
    at[2, column] = 3
    assert torch.equal(compiled(x, at), x.gather(-1, at))
