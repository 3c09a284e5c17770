"""Steps of kernels that check their accesses: before each step comes one that names the buffers it
may access. This applies to all steps of a segment, including those of nested tables; the executor
is the same.

A buffer is the memory behind a word's base: an arena buffer, a tensor, packed weights, or a value
moved by a loop. The offset tables that a launch holds are buffers, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ingot.codegen.mlir.check_functions import MOST_RANGES
from ingot.codegen.support.bounds_runtime import Buffers, enter_function
from ingot.codegen.support.executor import is_control_flow
from ingot.kernels.native_call import CallWord, NativeCall
from ingot.plan.ir import Buffer, Kind, Launch
from ingot.program.shapes import Size
from ingot.runtime.table import ARENA, ZERO, AnyStep, NativeStep, SizedStep, Word

SHIFT = 1 << 15
"""Base n + SHIFT is the end of the memory behind base n."""


@dataclass(frozen=True)
class Extents:
    """The known extents of the memory behind words."""

    arena: Mapping[Any, Size]
    """Bytes of each arena buffer."""
    owners: Mapping[int, Buffer]
    """The buffer that each base points to."""

    def range(self, word: Word) -> tuple[str, Word, Word] | None:
        """(name, start, end) of the buffer that a word points into; None for a number."""
        if word.base == ZERO:
            return None
        if word.base == ARENA:
            return (
                str(word.root),
                replace(word, offset=0),
                replace(word, offset=self.arena[word.root]),
            )
        owner = self.owners[word.base]
        if owner.kind is Kind.CURSOR:
            return owner.name, Word(word.base, 0), Word(word.base, owner.nbytes)
        return owner.name, Word(word.base, 0), Word(word.base + SHIFT, 0)

    def ranges(self, words: Iterable[Word]) -> dict[tuple[Word, Word], str]:
        """The range of each buffer, once, and its name."""
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
    if is_control_flow(step.function):
        tables = tuple(tuple(with_checks(table, extents)) for table in step.tables)
        return [replace(step, tables=tables)]
    ranges = extents.ranges(step.words)
    return [_enter(step.source, ranges), step]


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


def _launches(step: SizedStep, names: Sequence[str], sizes: Sequence[int]) -> list[NativeCall]:
    result = []
    for launch in step.make(sizes):
        tables = [each.items for each in launch.lookups]
        places = [(t.buffer_info()[0], len(t) * t.itemsize) for t in tables]
        buffers = Buffers.of(_text(step.source), [*names, *("a table of offsets" for _ in places)])
        words: list[CallWord] = [buffers.number, len(names) + len(places)]
        for name in names:
            words += [(f"{name} start", 0), (f"{name} end", 0)]
        words += [word for start, size in places for word in (start, start + size)]
        enter = enter_function()
        result += [NativeCall(enter, enter, tuple(words), buffers), launch]
    return result


def _text(source: Any) -> str:
    """The description of a step in errors: the ops that a launch computes."""
    if not isinstance(source, Launch):
        return str(source)
    calls = ", ".join(dict.fromkeys(call.target for call in source.computes.calls))
    return f"{source.kernel} ({calls})"
