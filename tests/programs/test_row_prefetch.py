"""Prefetching of rows and elements gathered from large tables. It changes no result and no error,
and nothing is read past the last row."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import ingot
from ingot.machine import this_machine
from tests.programs.check import by_threads

FETCH = "llvm.intr.prefetch"
LOOKUPS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "index_select": lambda table, at: table.index_select(0, at.flatten()),
    "embedding": lambda table, at: F.embedding(at, table) * 2,
    "index": lambda table, at: table[at - table.size(0)] + 1,
    "of two tables": lambda table, at: table[at] + (table * 2)[at],
    "by what is looked up": lambda table, at: table[(at * 2)[torch.arange(len(at))] // 2] - 1,
    "rows are summed": lambda table, at: table[at].sum(-1),
}


def large(width: int) -> Tensor:
    """A table that exceeds the L2 cache."""
    return torch.randn(2 * this_machine().l2_bytes // (4 * width) + 3, width)


def compiled_for(
    function: Callable[..., Tensor], *inputs: Tensor, fetches: bool = True
) -> Callable[..., Tensor]:
    compiled = ingot.compile(function, inputs, options={"strict": True})
    native = compiled.compiled.native
    assert native is not None
    assert any(FETCH in kernel.text for kernel in native.by_region.values()) is fetches
    return compiled


@torch.no_grad()
@pytest.mark.parametrize("name", LOOKUPS)
@pytest.mark.parametrize("shape", [(1,), (5,), (900,), (7, 130)], ids=str)
@pytest.mark.parametrize("width", [32, 61, 700])
def test_rows(width: int, shape: tuple[int, ...], name: str) -> None:
    table = large(width)
    at = torch.randint(len(table), shape)
    at.view(-1)[-1] = len(table) - 1
    compiled = compiled_for(LOOKUPS[name], table, at, fetches=at.numel() > 1)
    for result in by_threads(lambda: compiled(table, at)):
        torch.testing.assert_close(result, LOOKUPS[name](table, at))


@torch.no_grad()
@pytest.mark.parametrize("wrong", [-1, 10**6, 2**62, -(2**63)])
def test_a_row_that_is_not_there(wrong: int) -> None:
    table, at = large(64), torch.zeros(100, dtype=torch.int64)
    compiled = compiled_for(lambda table, at: table.index_select(0, at), table, at)
    for place in (0, 50, 99):
        with pytest.raises((IndexError, RuntimeError)):
            compiled(table, at.index_fill(0, torch.tensor(place), wrong))


@torch.no_grad()
@pytest.mark.parametrize("picks", [1000, 1024, 640])
def test_elements_of_each_row(picks: int) -> None:
    table = large(1000)
    at = torch.randint(1000, (len(table), picks))
    compiled = compiled_for(lambda table, at: table.gather(1, at), table, at)
    for result in by_threads(lambda: compiled(table, at)):
        assert torch.equal(result, table.gather(1, at))
    at[-1, -1] = 1000
    with pytest.raises((IndexError, RuntimeError)):
        compiled(table, at)
