"""Steps with range checks: before each comes one that names the buffers it may touch, and its
functions are the checked ones. Comes in: the steps of a segment, tables inside them included; goes
out: steps of the same kind, for the same executor.

A buffer is what a word's base points to: a piece of the arena, a tensor, what was made of weights,
or what a loop moves; and the tables of offsets that a launch holds.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ingot.codegen.bounds_runtime import (
    MOST_RANGES,
    Buffers,
    checked_function,
    enter_function,
)
from ingot.codegen.executor import is_steering
from ingot.fuse.region import Region
from ingot.plan.places import Moved, bytes_of
from ingot.plan.segment import ARENA, ZERO, AnyStep, Launch, NativeStep, SizedStep, Word
from ingot.program.shapes import Size

SHIFT = 1 << 15
"""The end of what base n points to is base n + SHIFT."""


@dataclass(frozen=True)
class Extents:
    """What is known of the memory behind words."""

    arena: Mapping[Any, Size]
    """Bytes of the pieces of the arena."""
    owners: Mapping[int, Any]
    """Whose memory a base points to: a node's, that of something made of weights, a Moved's."""

    def range(self, word: Word) -> tuple[str, Word, Word] | None:
        """(name, start, end) of the buffer that a word points into; None: it is a number."""
        if word.base == ZERO:
            return None
        if word.base == ARENA:
            return (
                str(word.root),
                replace(word, offset=0),
                replace(word, offset=self.arena[word.root]),
            )
        owner = self.owners[word.base]
        if isinstance(owner, Moved):
            return str(owner.node), Word(word.base, 0), Word(word.base, bytes_of(owner.node))
        return _name(owner), Word(word.base, 0), Word(word.base + SHIFT, 0)

    def ranges(self, words: Iterable[Word]) -> dict[tuple[Word, Word], str]:
        """Each buffer once."""
        found = (self.range(word) for word in words)
        return {(start, end): name for name, start, end in filter(None, found)}


def with_checks(steps: Iterable[AnyStep], extents: Extents) -> list[AnyStep]:
    result: list[AnyStep] = []
    for step in steps:
        if isinstance(step, SizedStep):
            result.append(_sized(step, extents))
        else:
            result += _native(step, extents)
    return result


def _native(step: NativeStep, extents: Extents) -> list[AnyStep]:
    if is_steering(step.function):
        tables = tuple(tuple(with_checks(table, extents)) for table in step.tables)
        return [replace(step, tables=tables)]
    ranges = extents.ranges(step.words)
    words = tuple(_own(word) for word in step.words)
    checked = replace(step, function=checked_function(step.function), words=words)
    return [_enter(step.source, ranges), checked]


def _own(word: Word) -> Word:
    """A number may be the address of a function that the step calls."""
    if word.base != ZERO or not isinstance(word.offset, int):
        return word
    return replace(word, offset=checked_function(word.offset))


def _enter(source: Any, ranges: Mapping[tuple[Word, Word], str]) -> NativeStep:
    assert len(ranges) <= MOST_RANGES
    buffers = Buffers.of(_text(source), list(ranges.values()))
    words = [Word(ZERO, buffers.number), Word(ZERO, len(ranges))]
    words += [word for pair in ranges for word in pair]
    return NativeStep(enter_function(), tuple(words), buffers)


def _sized(step: SizedStep, extents: Extents) -> SizedStep:
    named = {name: extents.range(word) for name, word in step.words.items()}
    ends = {name: (found[1], found[2]) for name, found in named.items() if found is not None}
    words = dict(step.words)
    for name, (start, end) in ends.items():
        words |= {f"{name} start": start, f"{name} end": end}
    return replace(step, words=words, make=partial(_launches, step, tuple(ends)))


def _launches(step: SizedStep, names: Sequence[str], sizes: Sequence[int]) -> list[Launch]:
    result = []
    for launch in step.make(sizes):
        tables = [table.buffer_info() + (table.itemsize,) for table in _tables(launch.held)]
        places = [(start, start + count * size) for start, count, size in tables]
        buffers = Buffers.of(_text(step.source), [*names, *("a table of offsets" for _ in places)])
        words: list[int | tuple[str, int]] = [buffers.number, len(names) + len(places)]
        for name in names:
            words += [(f"{name} start", 0), (f"{name} end", 0)]
        words += [word for place in places for word in place]
        enter = enter_function()
        result.append(Launch(enter, enter, tuple(words), buffers))
        own = tuple(checked_function(w) if isinstance(w, int) else w for w in launch.words)
        function, share = (checked_function(f) for f in (launch.function, launch.share))
        result.append(replace(launch, function=function, share=share, words=own))
    return result


def _tables(held: Any) -> list[array[Any]]:
    if isinstance(held, array):
        return [held]
    return [table for each in held or () for table in _tables(each)]


def _name(owner: Any) -> str:
    return owner[0] if isinstance(owner, tuple) else str(owner)


def _text(source: Any) -> str:
    if isinstance(source, Region):
        return source.as_text()
    if isinstance(source, list | tuple):
        return ", ".join(map(_text, source))
    return f"{source} = {source.target}" if hasattr(source, "target") else str(source)
