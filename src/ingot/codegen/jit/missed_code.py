"""Why a process compiled what an earlier one seems to have compiled already. The cache logs which
modules it had no entry for; such a module is compared with the modules that were there before, and
the first part of the key that differs from the nearest one is the reason. Nothing is compiled.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice, zip_longest

from ingot.cache.disk import DiskCache
from ingot.cache.misses import Run
from ingot.codegen.jit.code_store import EntryError, Origin
from ingot.codegen.jit.stored_code import Stored, lines_of, stored_modules

MOST_COMPARED = 4000
"""Modules that are read, the last used first."""
NEAR = 0.5
"""The similarity of modules that are worth comparing."""
TEXT = "text"
_DIGEST = re.compile(r"[0-9a-f]{16,32}", re.ASCII)
"""Part of names. It changes with every other line of what it names."""
NAMES = {"format": "format", "compiler": "compiler", "isa": "instruction set"}


@dataclass(frozen=True)
class KeyDifference:
    part: str
    """The part of the key that differs: format, compiler, instruction set, lowering or text."""
    here: str
    """This part of what was compiled; of a text, the first line that differs."""
    there: str
    """The same of the nearest entry."""
    line: int = 0
    """Of the text, from 1."""


@dataclass(frozen=True)
class Miss:
    key: str
    functions: tuple[str, ...]
    nearest: str | None
    """The key of the nearest module; None if none is like it."""
    difference: KeyDifference | None
    trouble: str = ""
    """Why there is nothing to compare."""


@dataclass(frozen=True)
class _Text:
    stored: Stored
    lines: list[str]
    plain: Counter[str]
    functions: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        return list(map(_plain, self.functions))

    def similarity(self, other: _Text) -> float:
        """The share of lines that both have, plus 1 if their functions have the same names."""
        common = (self.plain & other.plain).total()
        share = common / max(self.plain.total(), other.plain.total(), 1)
        return share + (self.names == other.names)


def last_run(disk: DiskCache, script: str | None) -> Run | None:
    """The last process with misses, or the last one that ran this file."""
    runs = [run for run in disk.runs() if script is None or run.script == script]
    return runs[-1] if runs else None


def misses_of(disk: DiskCache, run: Run) -> list[Miss]:
    later = later_keys(disk.runs(), run)
    missed: dict[str, _Text] = {}
    known: list[_Text] = []
    for each in islice(_texts(disk), MOST_COMPARED):
        if each.stored.key in run.keys:
            missed[each.stored.key] = each
        elif each.stored.key not in later:
            known.append(each)
    return [_miss(key, missed.get(key), known) for key in dict.fromkeys(run.keys)]


def later_keys(runs: Sequence[Run], run: Run) -> set[str]:
    """What later processes built, which was not there."""
    at = next((k for k, each in enumerate(runs) if each == run), len(runs))
    return {key for each in runs[at + 1 :] for key in each.keys}


def _texts(disk: DiskCache) -> Iterator[_Text]:
    for stored in stored_modules(disk):
        try:
            lines = lines_of(stored.module)
        except (EntryError, ValueError, TypeError, AttributeError):  # not a text of ours
            continue
        yield _Text(stored, lines, Counter(map(_plain, lines)), tuple(_functions(lines)))


def _plain(line: str) -> str:
    return _DIGEST.sub("…", line)


def _miss(key: str, text: _Text | None, known: Sequence[_Text]) -> Miss:
    if text is None:
        return Miss(key, (), None, None, "its entry is no longer there")
    if not known:
        return Miss(key, text.functions, None, None, "there was no other module")
    ranked = [(text.similarity(each), _agreement(text, each), k) for k, each in enumerate(known)]
    similarity, _, at = max(ranked)
    if similarity < NEAR:
        why = "no module has the same functions, or half of the lines"
        return Miss(key, text.functions, None, None, why)
    return Miss(key, text.functions, known[at].stored.key, _difference(text, known[at]))


def _agreement(one: _Text, other: _Text) -> int:
    """The number of equal parts, to choose among equal texts."""
    pairs = zip(_parts(one.stored.origin), _parts(other.stored.origin), strict=True)
    return sum(a == b for a, b in pairs)


def _parts(origin: Origin) -> list[str]:
    return [getattr(origin, field.name) for field in fields(origin)]


def _functions(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        found = re.search(r"llvm\.func internal @(\w+)", line)
        if found:
            yield found[1]


def _difference(text: _Text, other: _Text) -> KeyDifference:
    here, there = text.stored.origin, other.stored.origin
    for field in fields(here):
        values = getattr(here, field.name), getattr(there, field.name)
        if values[0] != values[1]:
            return KeyDifference(NAMES.get(field.name, field.name), *values)
    pairs = list(enumerate(zip_longest(text.lines, other.lines, fillvalue=""), 1))
    for same in (lambda a, b: _plain(a) == _plain(b), str.__eq__):
        for line, (ours, theirs) in pairs:
            if not same(ours, theirs):
                return KeyDifference(TEXT, ours.strip(), theirs.strip(), line)
    return KeyDifference(TEXT, "", "")
