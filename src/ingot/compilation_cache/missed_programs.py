"""Why a process compiled a program that an earlier one seems to have compiled already: the first
part of its key that differs from the nearest program's. Read without PyTorch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import islice, zip_longest

from ingot.cache.disk import DiskCache, read_entry
from ingot.cache.misses import Run
from ingot.cache.programs import ProgramEntryError, ProgramKey, is_program, read_key
from ingot.codegen.jit.missed_code import (
    MOST_COMPARED,
    NEAR,
    KeyDifference,
    Miss,
    later_keys,
)


@dataclass(frozen=True)
class _Stored:
    key: str
    parts: ProgramKey
    lines: Counter[str]

    def likeness(self, other: _Stored) -> float:
        """The share of lines that both graphs have."""
        common = (self.lines & other.lines).total()
        return common / max(self.lines.total(), other.lines.total(), 1)

    def agreement(self, other: _Stored) -> int:
        """The number of equal parts, to choose among equal graphs."""
        return sum(getattr(self.parts, f) == getattr(other.parts, f) for f in _PARTS)


_PARTS = tuple(field.name for field in fields(ProgramKey))


def program_misses(disk: DiskCache, run: Run) -> list[Miss]:
    """Of the programs that the process compiled and that are still there."""
    later = later_keys(disk.runs(), run)
    missed: dict[str, _Stored] = {}
    known: list[_Stored] = []
    for each in islice(_programs(disk), MOST_COMPARED):
        if each.key in run.keys:
            missed[each.key] = each
        elif each.key not in later:
            known.append(each)
    return [_miss(missed[key], known) for key in dict.fromkeys(run.keys) if key in missed]


def count_programs(disk: DiskCache) -> int:
    return sum(1 for _ in _programs(disk))


def _programs(disk: DiskCache) -> Iterator[_Stored]:
    """The last used first."""
    for path, _ in sorted(disk.entries(), key=lambda pair: pair[1].st_mtime, reverse=True):
        entry = read_entry(path)
        if entry is None or not is_program(entry):
            continue
        try:
            parts = read_key(entry)
        except ProgramEntryError:
            continue
        yield _Stored(path.name, parts, Counter(parts.graph.splitlines()))


def _miss(missed: _Stored, known: list[_Stored]) -> Miss:
    what = (f"a graph of {missed.lines.total()} nodes",)
    if not known:
        return Miss(missed.key, what, None, None, "there was no other program")
    ranked = [(missed.likeness(e), missed.agreement(e), k) for k, e in enumerate(known)]
    likeness, _, at = max(ranked)
    if likeness < NEAR:
        return Miss(missed.key, what, None, None, "no program has half of the nodes")
    return Miss(missed.key, what, known[at].key, _difference(missed.parts, known[at].parts))


def _difference(here: ProgramKey, there: ProgramKey) -> KeyDifference:
    part = next(f for f in _PARTS if getattr(here, f) != getattr(there, f))
    texts = (getattr(each, part).splitlines() for each in (here, there))
    for line, (ours, theirs) in enumerate(zip_longest(*texts, fillvalue=""), 1):
        if ours != theirs:
            return KeyDifference(part, ours, theirs, line if part == "graph" else 0)
    return KeyDifference(part, "", "")
