"""Native steps as tables for the executor: a function's address and its words for each step. Tables
are built for the values of the symbols, once for each combination of values, and never change
afterwards.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import sympy

from ingot.kernels.native_call import NativeCall
from ingot.plan.ir import Requirement
from ingot.plan.requirements import check, sizes_of
from ingot.plan.sizes import evaluator, symbols_in
from ingot.program.shapes import Size

if TYPE_CHECKING:
    from ingot.runtime.arena_layout import ArenaLayout

ZERO, ARENA = 0, 1
"""Bases that every plan has: no address, for numbers; the start of the arena."""
MOST_REMEMBERED = 512
"""Most combinations of sizes that are cached."""
MOST_HELD = 1 << 26
"""Most bytes that the tables of a segment may hold."""
Owner = Hashable
"""Owner of an arena buffer: a value, or a step that needs scratch memory."""


@dataclass(frozen=True)
class Word:
    base: int
    offset: Size
    root: Owner | None = None
    """Owner of the arena buffer that the offset is relative to."""


@dataclass(frozen=True)
class Share:
    """Shared execution by a team of threads: the function does the calling thread's share."""

    function: int
    threads: Size
    """The number of threads that find work."""


@dataclass(frozen=True)
class NativeStep:
    function: int
    words: tuple[Word, ...]
    source: Any
    """The region or the call, for errors."""
    tables: tuple[tuple[NativeStep | SizedStep, ...], ...] = ()
    """The tables that it runs: their addresses come before its words."""
    share: Share | None = None
    """None if it needs a call of its own."""

    def as_share(self) -> NativeStep:
        """The step that does one thread's share."""
        assert self.share is not None
        return NativeStep(self.share.function, self.words, self.source)


@dataclass(frozen=True)
class SizedStep:
    """A step whose calls depend on sizes: how often and which variant it runs."""

    words: Mapping[str, Word]
    sizes: tuple[Size, ...]
    make: Callable[[Sequence[int]], Sequence[NativeCall]]
    """The calls for the values of the sizes."""
    source: Any
    threads: Size | None = None
    """The number of threads that find work; None if it needs a call of its own."""

    def as_share(self) -> SizedStep:
        return replace(self, make=partial(_shares, self.make))


def _shares(
    make: Callable[[Sequence[int]], Sequence[NativeCall]], sizes: Sequence[int]
) -> list[NativeCall]:
    return [replace(call, function=call.share) for call in make(sizes)]


AnyStep = NativeStep | SizedStep


def _sizes(steps: Iterable[AnyStep]) -> Iterator[Size]:
    """All sizes in the steps, in the order in which tables are written."""
    for step in steps:
        if isinstance(step, SizedStep):
            yield from (word.offset for word in step.words.values())
            yield from step.sizes
            continue
        for table in step.tables:
            yield from _sizes(table)
        yield from (word.offset for word in step.words)


class Table:
    """The consecutive words of steps, at `address`, and the objects that they point to."""

    def __init__(self, steps: Iterable[AnyStep], places: Mapping[Any, int], sizes: Iterator[int]):
        self._places, self._sizes = places, sizes
        self._flat: list[int] = []
        self._held: list[Any] = []
        self.held_bytes = 0
        for step in steps:
            if isinstance(step, SizedStep):
                self._add_launches(step)
            else:
                self._add(step)
        self._words = (ctypes.c_int64 * (len(self._flat) + 1))(*self._flat, 0)
        self.address = ctypes.addressof(self._words)

    def _add(self, step: NativeStep) -> None:
        inner = [Table(table, self._places, self._sizes) for table in step.tables]
        self._held += inner
        self.held_bytes += sum(table.held_bytes for table in inner)
        self._flat += (step.function, len(inner) + len(step.words))
        for table in inner:
            self._flat += (ZERO, table.address)
        for word in step.words:
            self._flat += self._resolved(word)

    def _add_launches(self, step: SizedStep) -> None:
        words = {name: self._resolved(word) for name, word in step.words.items()}
        for launch in step.make([next(self._sizes) for _ in step.sizes]):
            self._held.append((launch.held, launch.lookups))
            self.held_bytes += launch.held_bytes
            self._flat += (launch.function, len(launch.words))
            for word in launch.words:
                if isinstance(word, tuple):
                    base, start = words[word[0]]
                    self._flat += (base, start + word[1])
                else:
                    self._flat += (ZERO, word if isinstance(word, int) else word.address)

    def _resolved(self, word: Word) -> tuple[int, int]:
        start = 0 if word.root is None else self._places[word.root]
        return word.base, start + next(self._sizes)


class NativeSegment:
    """Consecutive native steps, with no Python between them."""

    def __init__(
        self, arena: ArenaLayout, steps: Sequence[AnyStep], requires: Sequence[Requirement] = ()
    ):
        self.arena, self.steps, self.requires = arena, steps, requires
        self._tables: dict[tuple[tuple[int, ...], tuple[int, ...]], Table] = {}
        self._evaluate: Callable[[Sequence[int]], list[int]] | None = None

    def symbols(self) -> list[sympy.Symbol]:
        asked = (size for required in self.requires for size in sizes_of(required))
        return symbols_in([*_sizes(self.steps), *asked])

    def table(self, arena_values: tuple[int, ...], values: tuple[int, ...]) -> Table:
        """The table for these values of the arena's symbols and of the segment's own."""
        table = self._tables.get((arena_values, values))
        if table is None:
            table = self._made(arena_values, values)
            remember(self._tables, (arena_values, values), table)
            self._forget()
        return table

    def bind_for(self, sizes: Mapping[str, int]) -> None:
        """Make a table for these sizes, so that the code it needs is recorded as used; symbols that
        are not among them are 2."""

        def values(symbols: Sequence[sympy.Symbol]) -> tuple[int, ...]:
            return tuple(sizes.get(symbol.name, 2) for symbol in symbols)

        self._made(values(self.arena.symbols()), values(self.symbols()))

    def _made(self, arena_values: tuple[int, ...], values: tuple[int, ...]) -> Table:
        symbols = self.symbols()
        for required in self.requires:
            check(required, dict(zip(symbols, values, strict=True)))
        if self._evaluate is None:
            self._evaluate = evaluator(list(_sizes(self.steps)), symbols)
        places, _ = self.arena.bound(arena_values)
        return Table(self.steps, places, iter(self._evaluate(values)))

    def _forget(self) -> None:
        """Drops the oldest tables if all together hold too much; the last one stays."""
        known = list(self._tables.items())
        held = sum(table.held_bytes for _, table in known)
        for key, table in known[:-1]:
            if held <= MOST_HELD:
                return
            held -= table.held_bytes
            self._tables.pop(key, None)


def remember(known: dict[Any, Any], key: Any, value: Any) -> None:
    if len(known) >= MOST_REMEMBERED:
        known.pop(next(iter(known)), None)
    known[key] = value
