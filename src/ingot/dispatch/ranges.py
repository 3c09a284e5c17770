"""Ranges of sizes, boxes (a range for each dispatched size) and tables from box to implementation.
Ranges are sorted, do not overlap and leave no gap; a size outside every box has no row, and the
reference serves it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


class RangeError(ValueError):
    """Invalid ranges."""


@dataclass(frozen=True)
class Range:
    low: int
    high: int | None
    """The last size; None: no bound."""

    def __contains__(self, size: int) -> bool:
        return self.low <= size and (self.high is None or size <= self.high)

    def meets(self, other: Range) -> bool:
        return (self.high is None or other.low <= self.high) and (
            other.high is None or self.low <= other.high
        )

    def only(self) -> int | None:
        """The single size in the range, not counting 0; else None."""
        return self.high if self.high == max(self.low, 1) else None

    def as_text(self) -> str:
        return f"{self.low}..{'' if self.high is None else self.high}"


Box = tuple[Range, ...]
"""A range for each dispatched size."""


@dataclass(frozen=True)
class Row:
    box: Box
    serves: str
    """The name of a candidate."""
    confidence: float = 1.0
    """The share of rounds in which it was faster than the next best; 1 if pinned."""
    why: str = ""

    def as_text(self) -> str:
        return f"{box_text(self.box)}: {self.serves} ({self.why})"


@dataclass(frozen=True)
class RangeTable:
    """Which candidate serves which box."""

    rows: tuple[Row, ...]

    def row(self, sizes: Sequence[int]) -> Row | None:
        for row in self.rows:
            if all(size in part for size, part in zip(sizes, row.box, strict=True)):
                return row
        return None

    def merged(self) -> RangeTable:
        """Boxes of the same candidate that touch along one size become one."""
        rows = list(self.rows)
        while (pair := _mergeable(rows)) is not None:
            first, second = pair
            low = min(first.confidence, second.confidence)
            joined = Row(_joined(first.box, second.box), first.serves, low, first.why)
            rows[rows.index(first)] = joined
            rows.remove(second)
        return RangeTable(tuple(rows))

    def as_text(self) -> str:
        return "\n".join(row.as_text() for row in self.rows)


def box_text(box: Box) -> str:
    return " × ".join(part.as_text() for part in box)


def boxes(parts: Sequence[Sequence[Range]]) -> list[Box]:
    """Every combination of the ranges of each size."""
    return list(itertools.product(*parts))


def ranges_from(given: Any) -> tuple[Range, ...]:
    """Ranges from upper bounds (`[512, 2048]`: 0..512, 513..2048, 2049..), or from pairs of the
    first and the last size (`[(1, 512), (513, 2048)]`); None is no bound."""
    if not isinstance(given, list | tuple) or not given:
        raise RangeError(f"{given!r} is no list of bounds or of (first, last) pairs")
    if all(isinstance(item, int) for item in given):
        return _from_bounds(given)
    return _checked([pair_range(item) for item in given])


def _from_bounds(bounds: Sequence[int]) -> tuple[Range, ...]:
    for before, after in itertools.pairwise(bounds):
        if after <= before:
            raise RangeError(f"the bounds are not sorted: {after} comes after {before}")
    if bounds[0] < 0:
        raise RangeError(f"no size is {bounds[0]}")
    lows = [0, *(bound + 1 for bound in bounds)]
    return tuple(Range(low, high) for low, high in zip(lows, [*bounds, None]))


def pair_range(item: Any) -> Range:
    match item:
        case (int(low), int() | None as high):
            if low < 0 or (high is not None and high < low):
                raise RangeError(f"({low}, {high}) holds no size")
            return Range(low, high)
    raise RangeError(f"{item!r} is not a pair of a first and a last size")


def _checked(found: list[Range]) -> tuple[Range, ...]:
    for before, after in itertools.pairwise(found):
        if before.meets(after):
            raise RangeError(f"{before.as_text()} and {after.as_text()} overlap")
        if before.high is None or after.low < before.low:
            raise RangeError(
                f"{after.as_text()} comes after {before.as_text()}: they are not sorted"
            )
        if after.low != before.high + 1:
            gap = Range(before.high + 1, after.low - 1)
            raise RangeError(f"no range holds the sizes {gap.as_text()}")
    return tuple(found)


def check_disjoint(found: Iterable[Box]) -> None:
    for a, b in itertools.combinations(found, 2):
        if all(x.meets(y) for x, y in zip(a, b, strict=True)):
            raise RangeError(f"{box_text(a)} and {box_text(b)} overlap")


def _mergeable(rows: Sequence[Row]) -> tuple[Row, Row] | None:
    for first, second in itertools.permutations(rows, 2):
        if first.serves == second.serves and _touch(first.box, second.box):
            return first, second
    return None


def _touch(first: Box, second: Box) -> bool:
    """Equal in all sizes but one, in which the second starts right after the first."""
    differing = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    if len(differing) != 1:
        return False
    a, b = differing[0]
    return a.high is not None and b.low == a.high + 1


def _joined(first: Box, second: Box) -> Box:
    return tuple(Range(a.low, b.high) if a != b else a for a, b in zip(first, second, strict=True))
