"""Native steps as tables for the executor, and the arena they work in. Comes in: for each step a
function's address and its words; goes out: for the values of the symbols, the address of a table.
What holds: what is made of symbols is worked out once for each combination of their values; a table
is never changed once it is made.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy

from ingot.fuse.index import Size
from ingot.plan.arena import Lifetime, arranged
from ingot.plan.sizes import evaluator, symbols_in

ZERO, ARENA = 0, 1
"""Bases that every plan has: no address at all, for sizes; the start of the arena."""
MOST_REMEMBERED = 512
"""Combinations of sizes."""
Owner = Hashable
"""Of a piece of the arena: a value, or a step that wants room for itself."""


@dataclass(frozen=True)
class Word:
    base: int
    offset: Size
    root: Owner | None = None
    """What has the piece of the arena that the offset counts from."""


@dataclass(frozen=True)
class Share:
    """How a team of threads runs a step: a function that does what is the calling thread's."""

    function: int
    threads: int
    """How many would find something to do."""


@dataclass(frozen=True)
class NativeStep:
    function: int
    words: tuple[Word, ...]
    source: Any
    """The region or the call, for errors."""
    tables: tuple[tuple[NativeStep, ...], ...] = ()
    """What it runs: the addresses of these come before its words."""
    share: Share | None = None
    """None: it needs a call of its own."""


def _words(steps: Iterable[NativeStep]) -> Iterator[Word]:
    """In the order in which tables are written."""
    for step in steps:
        for table in step.tables:
            yield from _words(table)
        yield from step.words


@dataclass
class ArenaPlan:
    """The values that live in the arena."""

    first: dict[Owner, int] = field(default_factory=dict)
    last: dict[Owner, int] = field(default_factory=dict)
    sizes: dict[Owner, Size] = field(default_factory=dict)
    _known: dict[tuple[int, ...], tuple[dict[Owner, int], int]] = field(default_factory=dict)
    _evaluate: Callable[[Sequence[int]], list[int]] | None = None

    def make(self, node: Owner, size: Size, step: int) -> None:
        self.first[node], self.last[node], self.sizes[node] = step, step, size

    def use(self, node: Owner, step: int) -> None:
        self.last[node] = step

    def repeat(self, start: int, end: int) -> None:
        """Steps from `start` on run again and again until `end`: what was there before and is used
        there lives as long."""
        for node, last in self.last.items():
            if last >= start and self.first[node] < start:
                self.last[node] = end

    def symbols(self) -> list[sympy.Symbol]:
        return symbols_in(self.sizes.values())

    def bound(self, values: tuple[int, ...]) -> tuple[dict[Owner, int], int]:
        """(offset of each value, bytes in all), given the values of its symbols."""
        found = self._known.get(values)
        if found is None:
            if self._evaluate is None:
                self._evaluate = evaluator(list(self.sizes.values()), self.symbols())
            sizes = self._evaluate(values)
            lives = [
                Lifetime(self.first[node], self.last[node], size)
                for node, size in zip(self.sizes, sizes, strict=True)
            ]
            offsets, total = arranged(lives)
            found = dict(zip(self.sizes, offsets, strict=True)), total
            _remember(self._known, values, found)
        return found


class Segment:
    """Native steps that run one after the other, with nothing of the host's between them."""

    def __init__(self, arena: ArenaPlan):
        self.arena = arena
        self.steps: list[NativeStep] = []
        self._tables: dict[tuple[tuple[int, ...], tuple[int, ...]], Any] = {}
        self._evaluate: Callable[[Sequence[int]], list[int]] | None = None

    def _offsets(self) -> list[Size]:
        return [word.offset for word in _words(self.steps)]

    def symbols(self) -> list[sympy.Symbol]:
        return symbols_in(self._offsets())

    def table(self, arena_values: tuple[int, ...], values: tuple[int, ...]) -> int:
        """The address of the table for these values of the arena's symbols and of its own."""
        table = self._tables.get((arena_values, values))
        if table is None:
            table = self._made(arena_values, values)
            _remember(self._tables, (arena_values, values), table)
        return ctypes.addressof(table)

    def _made(self, arena_values: tuple[int, ...], values: tuple[int, ...]) -> Any:
        if self._evaluate is None:
            self._evaluate = evaluator(self._offsets(), self.symbols())
        places, _ = self.arena.bound(arena_values)
        return _table(self.steps, places, iter(self._evaluate(values)))


def _table(steps: Iterable[NativeStep], places: Mapping[Any, int], offsets: Iterator[int]) -> Any:
    """The words of the steps, one after the other; it holds the tables that they run."""
    flat: list[int] = []
    held = []
    for step in steps:
        inner = [_table(table, places, offsets) for table in step.tables]
        held += inner
        flat += (step.function, len(inner) + len(step.words))
        for table in inner:
            flat += (ZERO, ctypes.addressof(table))
        for word in step.words:
            start = 0 if word.root is None else places[word.root]
            flat += (word.base, start + next(offsets))
    table = (ctypes.c_int64 * (len(flat) + 1))(*flat, 0)
    table.held = held  # type: ignore[attr-defined]
    return table


def _remember(known: dict[Any, Any], key: Any, value: Any) -> None:
    if len(known) >= MOST_REMEMBERED:
        known.pop(next(iter(known)), None)
    known[key] = value
