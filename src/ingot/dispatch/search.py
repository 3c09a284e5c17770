"""Search for ranges by measuring. The rows cover all sizes that there was time for; beyond the
searched span, the candidates at its ends serve.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from ingot.dispatch.declared import Advance
from ingot.dispatch.measure import Bench, Timed
from ingot.dispatch.ranges import Range, Row
from ingot.dispatch.winners import CLOSE, chosen, row_of

NARROW = 1.02
"""Split points are located up to this ratio of the sizes on both sides."""
LOOKS, AROUND, DOUBT = 12, 1.5, 0.2
"""How often sizes are measured again, up to which ratio to a split point, and up to which
difference between the candidates below and above it."""
CHANGE = 0.015
"""The minimum gain of a change of candidate: as a share of the time, over sizes that double."""


def found_ranges(bench: Bench, advance: Advance) -> tuple[list[Row], list[Timed]]:
    """Find split points by bisection on the winner. Sizes near one are measured again later: the
    speed of a machine varies over time."""
    search = Search(bench)
    possible = bench.possible()[0]
    low, high = bench.dispatch.span
    grid = _grid(
        max(low, possible.low), high if possible.high is None else min(high, possible.high)
    )
    parts = len(grid) * (2 + LOOKS)
    for number, size in enumerate(_coarse_first(grid)):
        advance(number, parts, f"size {size}")
        search.look(size)
    for turn in range(1 + LOOKS):
        sizes = itertools.chain(search.near_splits() if turn else (), search.splits())
        for number, size in enumerate(sizes):
            done = (1 + turn) * len(grid) + min(number, len(grid) - 1)
            advance(done, parts, f"size {size}")
    return _rows_of(search.known, grid[-1] in search.known), [
        search.known[size] for size in sorted(search.known)
    ]


class Search:
    """The measured sizes, and those worth measuring."""

    def __init__(self, bench: Bench):
        self.bench = bench
        self.known: dict[int, Timed] = {}

    def look(self, size: int) -> bool:
        """Measure a size; repeated measurements are combined."""
        found = self.bench.time_at((size,), (Range(0, None),))
        if found is None or not found.rounds:
            return False
        before = self.known.get(size)
        self.known[size] = found if before is None else before.joined(found)
        return True

    def splits(self) -> Iterator[int]:
        """Bisect between neighbours with different winners, until they are close."""
        pending = [p for p in itertools.pairwise(sorted(self.known)) if _differ(self.known, *p)]
        while pending:
            below, above = pending.pop()
            middle = math.isqrt(below * above)
            if above / below < NARROW or middle in (below, above):
                continue
            yield middle
            if self.look(middle):
                halves = ((below, middle), (middle, above))
                pending += [pair for pair in halves if _differ(self.known, *pair)]

    def near_splits(self) -> Iterator[int]:
        """Measure again around changes of candidate, where the better one is in doubt."""
        path = _best_path(self.known)
        changes = [
            (math.sqrt(a * b), x, y) for (a, x), (b, y) in itertools.pairwise(path) if x != y
        ]
        for size, _ in path:
            if any(self._in_doubt(size, *change) for change in changes):
                yield size
                self.look(size)

    def _in_doubt(self, size: int, change: float, below: str, above: str) -> bool:
        costs = self.known[size].costs()
        near = 1 / AROUND <= size / change <= AROUND
        missing = below not in costs or above not in costs
        return near and not missing and abs(costs[below] - costs[above]) < DOUBT


def _grid(low: int, high: int) -> list[int]:
    sizes = {low, high}
    for k in range(low.bit_length() - 1, high.bit_length() + 1):
        sizes |= {n for n in (1 << k, 3 << k >> 1) if low < n < high}
    return sorted(sizes)


def _coarse_first(grid: Sequence[int]) -> list[int]:
    """The ends, the middle, the quarters …: whenever time is up, the whole span was sampled."""
    pending, order = [(0, len(grid) - 1)], [grid[0], grid[-1]]
    for low, high in pending:
        middle = (low + high) // 2
        if middle > low:
            order.append(grid[middle])
            pending += [(low, middle), (middle, high)]
    return list(dict.fromkeys(order))


def _differ(known: Mapping[int, Timed], below: int, above: int) -> bool:
    """Does the winner at one size clearly lose at the other?"""
    a, b = known[below].costs(), known[above].costs()
    first, second = min(a, key=a.__getitem__), min(b, key=b.__getitem__)
    if first == second:
        return False
    worse_above = b.get(first, math.inf) > b[second] + CLOSE
    worse_below = a.get(second, math.inf) > a[first] + CLOSE
    return worse_above or worse_below


def _rows_of(known: Mapping[int, Timed], to_the_end: bool) -> list[Row]:
    """If there was no time for the end of the span, sizes larger than the measured ones have no
    row: the reference serves them."""
    if not known:
        return [chosen((Range(0, None),), [], None)]
    groups: list[tuple[str, list[int]]] = []
    for size, name in _best_path(known):
        if groups and groups[-1][0] == name:
            groups[-1][1].append(size)
        else:
            groups.append((name, [size]))
    rows = []
    start = 0
    for k, (name, sizes) in enumerate(groups):
        if k + 1 < len(groups):
            high: int | None = _split_point(sizes[-1], groups[k + 1][1][0])
        else:
            high = None if to_the_end else sizes[-1]
        rows.append(row_of((Range(start, high),), [known[size] for size in sizes], name))
        start = 0 if high is None else high + 1
    return rows


def _split_point(below: int, above: int) -> int:
    return max(below, min(above - 1, math.isqrt(below * above)))


def _best_path(known: Mapping[int, Timed]) -> list[tuple[int, str]]:
    """The candidate for each size, by dynamic programming: the least total time, with each size
    weighted by the span it represents, and a price on each change of candidate."""
    best: dict[str, tuple[float, list[str]]] = {}
    for size, weight in _weights(sorted(known)):
        step: dict[str, tuple[float, list[str]]] = {}
        for name, cost in known[size].costs().items():
            ways = [
                (total + (0.0 if other == name else CHANGE), path)
                for other, (total, path) in best.items()
            ]
            total, path = min(ways, key=lambda way: way[0]) if ways else (0.0, [])
            step[name] = (total + weight * cost, [*path, name])
        best = step
    _, path = min(best.values(), key=lambda way: way[0])
    return list(zip(sorted(known), path))


def _weights(sizes: Sequence[int]) -> list[tuple[int, float]]:
    """Doublings of the size from halfway to the previous one to halfway to the next."""
    places = [math.log2(max(size, 1)) for size in sizes]
    ends = [places[0], *((a + b) / 2 for a, b in itertools.pairwise(places)), places[-1]]
    spans = [max(b - a, 1e-3) for a, b in itertools.pairwise(ends)]
    return list(zip(sizes, spans))
