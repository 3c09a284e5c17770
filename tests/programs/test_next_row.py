"""Prefetching for rows reduced in several passes: the next row is fetched during the last pass.
Results do not change, whatever follows the last row in memory."""

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
REDUCE: dict[str, Callable[[Tensor], Tensor]] = {
    "below the largest": lambda x: (x.amax(-1, keepdim=True) - x).mean(-1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "of a sum": lambda x: (x + x[0]).logsumexp(-1),
}


def rows_of(length: int) -> int:
    """Enough rows to exceed the L2 cache and to give each thread whole rows."""
    return max(129, this_machine().l2_bytes // (4 * length) + 3)


def fetches(function: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    compiled = ingot.compile(function, (x,), options={"strict": True})
    results = by_threads(lambda: compiled(x))
    torch.testing.assert_close(results[0].double(), function(x.double()), rtol=2e-5, atol=2e-5)
    assert all(torch.equal(result, results[0]) for result in results[1:])
    native = compiled.compiled.native
    assert native is not None
    return any(FETCH in kernel.text for kernel in native.by_region.values())


@torch.no_grad()
@pytest.mark.parametrize("name", REDUCE)
@pytest.mark.parametrize("length", [130, 1024, 3001, 40_000])
def test_rows_that_lie_far(name: str, length: int) -> None:
    assert fetches(REDUCE[name], torch.randn(rows_of(length), length))


@torch.no_grad()
def test_rows_with_something_between_them() -> None:
    assert fetches(REDUCE["below the largest"], torch.randn(rows_of(1000), 1500)[:, 17:1017])


@torch.no_grad()
def test_the_last_row_ends_where_memory_ends() -> None:
    x = torch.randn(rows_of(1024) * 1024)
    assert fetches(REDUCE["below the largest"], x.view(-1, 1024))


@torch.no_grad()
def test_what_is_near_or_the_same_is_not_fetched() -> None:
    assert not fetches(REDUCE["below the largest"], torch.randn(16, 1024))
    assert not fetches(
        REDUCE["below the largest"], torch.randn(1, 1024).expand(rows_of(1024), 1024)
    )


@torch.no_grad()
@pytest.mark.parametrize("length", [130, 1024, 3001, 40_000])
def test_rows_that_are_stored(length: int) -> None:
    assert fetches(lambda x: x.softmax(-1), torch.randn(4 * rows_of(length), length))


@torch.no_grad()
def test_rows_that_are_stored_and_near_or_made_of_several_are_not_fetched() -> None:
    x = torch.randn(4 * rows_of(1024), 1024)
    y = torch.randn_like(x)
    assert not fetches(lambda x: x.softmax(-1), x[: rows_of(1024)].clone())
    assert not fetches(lambda x: (x + y.to(x.dtype)).softmax(-1), x)


@torch.no_grad()
@pytest.mark.parametrize("length", [130, 1024, 3001, 40_000])
def test_variances_read_rows_as_one(length: int) -> None:
    """In a single pass, the hardware prefetcher follows from row to row by itself."""
    assert not fetches(lambda x: x.var(-1), torch.randn(rows_of(length), length))


@torch.no_grad()
def test_norms() -> None:
    """With stores between the rows, short rows and rows in several pieces are prefetched."""
    short, long = (torch.randn(4 * rows_of(n), n) for n in (768, 4096))
    assert fetches(lambda x: F.layer_norm(x, x.shape[1:]), short)
    assert not fetches(lambda x: F.layer_norm(x, x.shape[1:]), long)
    images = torch.randn(8, rows_of(3072) // 2 + 1, 48, 64)
    assert fetches(lambda x: F.batch_norm(x, None, None, training=True), images)
