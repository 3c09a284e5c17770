"""Measure the ranges that the user declared, at sizes that represent each. The result is a row for
each box that there was time for, and all timings.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence

from ingot.dispatch.measure import Bench, Timed
from ingot.dispatch.ranges import Box, Range, Row, box_text
from ingot.dispatch.winners import chosen

MOST_POINTS = 12
"""Per box."""
Advance = Callable[[float, float, str], None]
"""Called with the amount done, the total, and the next item."""


def declared_ranges(
    bench: Bench, missing: Sequence[Box], advance: Advance
) -> tuple[list[Row], list[Timed]]:
    """Choose a candidate for each of the boxes, which share the remaining time equally."""
    end = bench.deadline
    rows: list[Row] = []
    everything: list[Timed] = []
    for number, box in enumerate(missing):
        left = end - time.perf_counter()
        bench.deadline = time.perf_counter() + left / (len(missing) - number)
        points = representative(bench, box)
        timed = []
        for k, point in enumerate(points):
            advance(number + k / len(points), len(missing), box_text(box))
            found = bench.time_at(point, box)
            if found is not None:
                timed.append(found)
        if timed or not bench.spent():
            rows.append(chosen(box, timed, rows[-1].serves if rows else None))
        everything += timed
    return rows, everything


def representative(bench: Bench, box: Box) -> list[tuple[int, ...]]:
    """Sizes that represent a box: ends, middle, powers of two."""
    each = [_points(part, known) for part, known in zip(box, bench.possible(), strict=True)]
    few = each if len(each) == 1 else [[p[0], p[len(p) // 2], p[-1]] for p in each if p]
    points = list(dict.fromkeys(itertools.product(*few)))
    return points[:: max(1, math.ceil(len(points) / MOST_POINTS))]


def _points(part: Range, known: Range) -> list[int]:
    if (only := part.only()) is not None:
        return [only]
    low = max(part.low, known.low, 1)
    bounds = [b for b in (part.high, known.high) if b is not None]
    high = max(low, min(bounds)) if bounds else 4 * low
    middle = math.isqrt(low * high)
    powers = [1 << k for k in range(low.bit_length(), high.bit_length()) if low < 1 << k < high]
    spread = powers[:: max(1, math.ceil(len(powers) / 3))]
    return sorted({low, middle, high, *spread})
