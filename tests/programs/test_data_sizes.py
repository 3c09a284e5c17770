"""Ops with data-dependent result sizes inside larger programs: captured whole without settings,
compiled once, equal to eager on many random inputs, some with empty results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import ingot
from ingot import observe
from ingot.stages import Compiled

RUNS = 50
N = 24
Maker = Callable[[torch.Generator], tuple[Any, ...]]


def numbers(g: torch.Generator) -> tuple[Tensor]:
    """Random values: mixed, all at most zero, or all positive."""
    x = torch.randn(N, 6, generator=g)
    kind = int(torch.randint(0, 6, (), generator=g))
    return ({0: -x.abs(), 1: x.abs() + 1}.get(kind, x),)


def words(g: torch.Generator) -> tuple[Tensor]:
    high = int(torch.randint(1, 9, (), generator=g))
    return (torch.randint(0, high, (N,), generator=g),)


def with_count(g: torch.Generator) -> tuple[Tensor, Tensor]:
    return torch.randn(N, 6, generator=g), torch.randint(0, N + 1, (), generator=g)


def with_lengths(g: torch.Generator) -> tuple[Tensor, Tensor]:
    lengths = torch.randint(0, 4, (N,), generator=g)
    return torch.randn(N, 6, generator=g), lengths * int(torch.randint(0, 5, (), generator=g) > 0)


def nonzero(x: Tensor) -> Tensor:
    return torch.nonzero(x.relu() > 0) * 2 + 1


def masked_select(x: Tensor) -> Tensor:
    return torch.masked_select(x, x > 0).exp().cumsum(0)


def by_mask(x: Tensor) -> tuple[Tensor, Tensor]:
    kept = x[x > 0]
    return kept.sin() * kept.size(0), kept.sum()


def rows_by_mask(x: Tensor) -> Tensor:
    rows = x[x.sum(1) > 0]
    return F.softmax(rows, -1) @ x[:6]


def write_by_mask(x: Tensor) -> Tensor:
    y = x * 2
    y[y > 1] = y[y > 1].sqrt()
    return y


def unique(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    values, where, counts = torch.unique(x, return_inverse=True, return_counts=True)
    return values * 2, where + 1, counts / counts.sum()


def runs(x: Tensor) -> tuple[Tensor, Tensor]:
    values, counts = torch.unique_consecutive(x, return_counts=True)
    return values + 1, counts.cumsum(0)


def sliced_by_item(x: Tensor, n: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    count = n.clamp(min=0).item()
    return x[:count].exp().sum(0), x[count:] * count, x[:, : count // 4] + 1


def checked(x: Tensor, n: Tensor) -> Tensor:
    count = n.clamp(min=0).item()
    torch._check(count >= 0)
    torch._check(count <= x.size(0))
    return x.narrow(0, 0, count).tanh() + torch.arange(count)[:, None]


def sized_by_item(x: Tensor, n: Tensor) -> tuple[Tensor, Tensor]:
    count = n.clamp(min=0).item()
    made = torch.full((count, 2), count / 2) + torch.zeros(count, 1)
    return made * x.sum(), torch.arange(count)


def repeated(x: Tensor, lengths: Tensor) -> Tensor:
    return torch.repeat_interleave(x, lengths, 0).relu() + 1


def where_alone(x: Tensor) -> tuple[Tensor, Tensor]:
    rows, columns = torch.where(x > 0.5)
    return x[rows, columns] * 3, rows + columns


def bincount(x: Tensor) -> Tensor:
    return torch.bincount(x).float().softmax(0)


def run_lengths(x: Tensor) -> tuple[Tensor, Tensor]:
    """Values and lengths of runs, computed with comparisons, and expanded again."""
    starts = torch.cat([torch.ones(1, dtype=torch.bool), x[1:] != x[:-1]])
    first = torch.nonzero(starts)[:, 0]
    lengths = torch.diff(first, append=torch.tensor([x.size(0)]))
    return torch.repeat_interleave(x[first], lengths) * 2, lengths


def ragged_mean(x: Tensor, lengths: Tensor) -> Tensor:
    rows = torch.repeat_interleave(torch.arange(lengths.size(0)), lengths)
    values = torch.arange(rows.size(0))[:, None] * x[rows]
    total = torch.zeros_like(x).index_add(0, rows, values)
    return total / lengths.clamp(min=1)[:, None]


def ragged_pad(x: Tensor, lengths: Tensor) -> Tensor:
    most = lengths.max().item()
    there = torch.arange(most)[None] < lengths[:, None]
    return torch.where(there, x[:, :1], 0.0).cumsum(1)


def split(x: Tensor, n: Tensor) -> list[Tensor]:
    count = n.clamp(min=0).item()
    torch._check(count >= 0)
    torch._check(count <= x.size(0))
    return [part * 2 for part in x.split([count, x.size(0) - count])]


PROGRAMS: list[tuple[Callable[..., Any], Maker]] = [
    (nonzero, numbers), (masked_select, numbers), (by_mask, numbers), (rows_by_mask, numbers),
    (write_by_mask, numbers), (unique, words), (runs, words), (sliced_by_item, with_count),
    (checked, with_count), (sized_by_item, with_count), (repeated, with_lengths),
    (where_alone, numbers), (bincount, words), (run_lengths, words), (ragged_mean, with_lengths),
    (ragged_pad, with_lengths), (split, with_count),
]  # fmt: skip


def through_dynamo(function: Callable[..., Any], _: Any) -> Callable[..., Any]:
    return torch.compile(function, backend="ingot", fullgraph=True, options={"strict": True})


def ahead(function: Callable[..., Any], args: Any) -> Callable[..., Any]:
    return ingot.compile(function, args, options={"strict": True})


@pytest.mark.parametrize("entry_point", [through_dynamo, ahead], ids=["torch.compile", "ahead"])
@pytest.mark.parametrize(
    ("function", "make"), PROGRAMS, ids=[function.__name__ for function, _ in PROGRAMS]
)
def test_equals_eager(function: Callable[..., Any], make: Maker, entry_point: Any) -> None:
    torch._dynamo.reset()
    generator = torch.Generator().manual_seed(3)
    inputs = [make(generator) for _ in range(RUNS)]
    heard: list[Compiled] = []
    with observe.listening(heard.append):
        compiled = entry_point(function, inputs[0])
        for args in inputs:
            torch.testing.assert_close(compiled(*args), function(*args), rtol=1e-4, atol=1e-5)
    assert len(heard) == 1


def test_item_of_an_argument() -> None:
    """torch.compile treats it as a given number with guards, so zero and one are separate
    graphs."""

    def function(x: Tensor, n: Tensor) -> Tensor:
        return x[: n.item()].exp().sum(0) * n.item()

    heard: list[Compiled] = []
    with observe.listening(heard.append):
        compiled = torch.compile(function, backend="ingot", fullgraph=True)
        for n in (5, 7, 0, 1, 24, 3, 40):
            args = torch.randn(N, 6), torch.tensor(n)
            torch.testing.assert_close(compiled(*args), function(*args), rtol=1e-4, atol=1e-5)
    assert len(heard) <= 4


def test_a_region_is_not_merged_around_a_size_that_it_determines() -> None:
    """The sum reads the region of `y` and a size that `nonzero` computes from `y`."""

    def function(x: Tensor) -> Tensor:
        y = x.sin() + 0.5
        return y + (y > 0).nonzero().size(0)

    compiled = torch.compile(function, backend="ingot", fullgraph=True, options={"strict": True})
    for x in (torch.randn(N, 6), -torch.ones(3, 2)):
        torch.testing.assert_close(compiled(x), function(x))
