"""Who serves which range, by measuring. Comes in: a dispatched operation and arguments; goes out: a
Record. What holds: the budget is kept; adjacent ranges with the same winner are one; a candidate
that is not clearly faster than its neighbour's winner does not split a range; if all are
disqualified the reference serves.
"""

from __future__ import annotations

import itertools
import math
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torch.utils._python_dispatch import _disable_current_modes

from ingot.dispatch.candidates import REFERENCE
from ingot.dispatch.measure import Bench, Timed
from ingot.dispatch.ranges import Box, Range, Row, Table, box_text
from ingot.dispatch.records import Record, Sample, known_record, remember, setting_of
from ingot.dispatch.symbols import symbolic_call
from ingot.options import Options, make_options

if TYPE_CHECKING:
    from ingot.dispatch.declare import Dispatch

CLOSE = 0.03
"""Candidates this near to the fastest are as good."""
NARROW = 1.05
"""Split points are found up to this ratio of the sizes on both sides."""
LOOKS, AROUND = 2, 1.5
"""How often sizes are looked at again, and up to which ratio to a split point."""
MOST_POINTS = 12


def record_for(
    dispatch: Dispatch,
    bound: Mapping[str, Any],
    *,
    needed: Sequence[Range] | None = None,
    budget: float | None = None,
    again: bool = False,
    options: Options | None = None,
) -> Record:
    """What is known of these arguments, measured now where it is not. `needed`: the sizes that may
    come."""
    options = options or make_options()
    seconds = dispatch.budget if budget is None else budget
    record = known_record(dispatch, bound, options) or Record(
        setting_of(dispatch, bound), Table(())
    )
    if again:
        record = Record(record.setting, Table(()))
    missing = _missing(dispatch, record, needed)
    if not missing or len(dispatch.candidates) == 1:
        return record
    if seconds <= 0:
        return record
    measured = _measured(dispatch, bound, missing, seconds, options)
    record = record.joined(measured)
    remember(dispatch, record, options)
    return record


def _missing(
    dispatch: Dispatch, record: Record, needed: Sequence[Range] | None
) -> list[Box] | None:
    """The boxes that are not measured yet; for ranges that are to be found, all or nothing."""
    declared = dispatch.boxes()
    if declared is None:
        return None if record.table.rows else [(Range(0, None),)]
    known = {row.box for row in record.table.rows}
    wanted = [
        box
        for box in declared
        if needed is None or all(a.meets(b) for a, b in zip(box, needed, strict=True))
    ]
    return [box for box in wanted if box not in known]


def _measured(
    dispatch: Dispatch,
    bound: Mapping[str, Any],
    missing: Sequence[Box],
    seconds: float,
    options: Options,
) -> Record:
    setting = setting_of(dispatch, bound)
    with _disable_current_modes():
        call = symbolic_call(dispatch, bound)
        quiet = replace(options, strict=True, dump="", profile=False, target="")
        bench = Bench(call, quiet, time.perf_counter() + seconds)
        with _progress(dispatch) as advance:
            if dispatch.ranges is None:
                rows, timed = _found_ranges(bench, advance)
            else:
                rows, timed = _declared_ranges(bench, missing, seconds, advance)
    samples = tuple(Sample(t.sizes, t.medians()) for t in timed)
    return Record(setting, Table(tuple(rows)), samples, dict(bench.disqualified))


# -- declared ranges -------------------------------------------------------------------------------


def _declared_ranges(
    bench: Bench, missing: Sequence[Box], seconds: float, advance: Any
) -> tuple[list[Row], list[Timed]]:
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
        rows.append(chosen(bench, box, timed, rows[-1].serves if rows else None))
        everything += timed
    return rows, everything


def representative(bench: Bench, box: Box) -> list[tuple[int, ...]]:
    """Sizes that stand for a box: ends, middle, powers of two."""
    each = [_points(part, known) for part, known in zip(box, _possible(bench), strict=True)]
    few = each if len(each) == 1 else [[p[0], p[len(p) // 2], p[-1]] for p in each if p]
    points = list(dict.fromkeys(itertools.product(*few)))
    return points[:: max(1, math.ceil(len(points) / MOST_POINTS))]


def _possible(bench: Bench) -> list[Range]:
    from ingot.dispatch.narrow import bounds_of, world_of

    world = world_of(bench.call.inputs)
    return [Range(*bounds_of(size, world)) for size in bench.call.sizes()]


def _points(part: Range, known: Range) -> list[int]:
    low = max(part.low, known.low, 1)
    bounds = [b for b in (part.high, known.high) if b is not None]
    high = max(low, min(bounds)) if bounds else 4 * low
    middle = math.isqrt(low * high)
    powers = [1 << k for k in range(low.bit_length(), high.bit_length()) if low < 1 << k < high]
    spread = powers[:: max(1, math.ceil(len(powers) / 3))]
    return sorted({low, middle, high, *spread})


def chosen(bench: Bench, box: Box, timed: Sequence[Timed], before: str | None) -> Row:
    """Who serves a box: the fastest over all its sizes, or whoever serves the box before, or the
    reference, if that is as good."""
    runners = [set(t.rounds) for t in timed]
    everywhere = set.intersection(*runners) if runners else set()
    if not everywhere:
        spent = "there was no time to measure" if bench.spent() else "no implementation qualified"
        return Row(box, REFERENCE, 0.0, spent)
    costs = {name: _cost(timed, name) for name in everywhere}
    order = sorted(everywhere, key=lambda name: costs[name])
    winner = order[0]
    for simpler in (before, REFERENCE):
        if simpler in costs and costs[simpler] - costs[order[0]] < CLOSE:
            winner = simpler
            break
    others = [name for name in order if name != winner]
    if not others:
        return Row(box, winner, 1.0, "it is the only one that qualified")
    confidence = _confidence(timed, winner, others[0])
    ratio = math.exp(costs[others[0]] - costs[winner])
    return Row(box, winner, confidence, f"measured {ratio:.2f} times as fast as {others[0]}")


def _cost(timed: Sequence[Timed], name: str) -> float:
    """The mean of the logarithms of its times."""
    return statistics.fmean(math.log(t.medians()[name]) for t in timed)


def _confidence(timed: Sequence[Timed], winner: str, other: str) -> float:
    """The share of rounds, over all sizes, in which the one was faster than the other."""
    pairs = [(a, b) for t in timed for a, b in zip(t.rounds[winner], t.rounds[other])]
    return sum(a <= b for a, b in pairs) / len(pairs)


# -- ranges that are found -------------------------------------------------------------------------


def _found_ranges(bench: Bench, advance: Any) -> tuple[list[Row], list[Timed]]:
    """Split points by bisection on who wins. What is near one is looked at again later, because a
    machine is not the same all the time."""
    search = Search(bench)
    possible = _possible(bench)[0]
    low, high = bench.dispatch.span
    grid = _grid(
        max(low, possible.low), high if possible.high is None else min(high, possible.high)
    )
    parts = len(grid) * (2 + LOOKS)
    for number, size in enumerate(grid):
        advance(number, parts, f"size {size}")
        search.look(size)
    for turn in range(1 + LOOKS):
        sizes = itertools.chain(search.near_splits() if turn else (), search.splits())
        for number, size in enumerate(sizes):
            done = (1 + turn) * len(grid) + min(number, len(grid) - 1)
            advance(done, parts, f"size {size}")
    return _rows_of(search.known, bench), [search.known[size] for size in sorted(search.known)]


class Search:
    """Sizes that were measured, and those that are worth it."""

    def __init__(self, bench: Bench):
        self.bench = bench
        self.known: dict[int, Timed] = {}

    def look(self, size: int) -> bool:
        """Measure a size, again if it was measured before."""
        found = self.bench.time_at((size,), (Range(0, None),))
        if found is None or not found.rounds:
            return False
        before = self.known.get(size)
        self.known[size] = found if before is None else before.joined(found)
        return True

    def splits(self) -> Iterator[int]:
        """Measure between neighbours with different winners, until they are near."""
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
        """Measure again around changes of who serves."""
        path = _best_path(self.known)
        changes = [math.sqrt(a * b) for (a, x), (b, y) in itertools.pairwise(path) if x != y]
        for size, _ in path:
            if any(1 / AROUND <= size / change <= AROUND for change in changes):
                yield size
                self.look(size)


def _grid(low: int, high: int) -> list[int]:
    sizes = {low, high}
    for k in range(low.bit_length() - 1, high.bit_length() + 1):
        sizes |= {n for n in (1 << k, 3 << k >> 1) if low < n < high}
    return sorted(sizes)


def _differ(known: Mapping[int, Timed], below: int, above: int) -> bool:
    """Does one of them win here and clearly lose there?"""
    a, b = known[below].medians(), known[above].medians()
    first, second = min(a, key=a.__getitem__), min(b, key=b.__getitem__)
    if first == second:
        return False
    worse_above = b.get(first, math.inf) > (1 + CLOSE) * b[second]
    worse_below = a.get(second, math.inf) > (1 + CLOSE) * a[first]
    return worse_above or worse_below


def _rows_of(known: Mapping[int, Timed], bench: Bench) -> list[Row]:
    if not known:
        return [chosen(bench, (Range(0, None),), [], None)]
    groups: list[tuple[str, list[int]]] = []
    for size, name in _best_path(known):
        if groups and groups[-1][0] == name:
            groups[-1][1].append(size)
        else:
            groups.append((name, [size]))
    rows = []
    start = 0
    for k, (name, sizes) in enumerate(groups):
        last = groups[k + 1][1][0] - 1 if k + 1 < len(groups) else None
        high = last if last is None else _split_point(sizes[-1], last + 1)
        box: Box = (Range(start, high),)
        row = chosen(bench, box, [known[size] for size in sizes], name)
        rows.append(row if row.serves == name else replace(row, serves=name))
        start = 0 if high is None else high + 1
    return rows


def _split_point(below: int, above: int) -> int:
    return max(below, min(above - 1, math.isqrt(below * above)))


def _best_path(known: Mapping[int, Timed]) -> list[tuple[int, str]]:
    """Who serves each size: the least time in all, where a change costs as much as what is within
    the noise. By dynamic programming over the sizes."""
    best: dict[str, tuple[float, list[str]]] = {}
    for size in sorted(known):
        times = known[size].medians()
        fastest = min(times.values())
        step: dict[str, tuple[float, list[str]]] = {}
        for name, seconds in times.items():
            cost = math.log(seconds / fastest)
            ways = [
                (total + (0.0 if other == name else CLOSE), path)
                for other, (total, path) in best.items()
            ]
            total, path = min(ways, key=lambda way: way[0]) if ways else (0.0, [])
            step[name] = (total + cost, [*path, name])
        best = step
    _, path = min(best.values(), key=lambda way: way[0])
    return list(zip(sorted(known), path))


@contextmanager
def _progress(dispatch: Dispatch) -> Iterator[Any]:
    """A bar in a terminal, nothing elsewhere."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(f"measuring {dispatch.name}", total=1.0)

        def advance(done: float, total: float, text: str) -> None:
            bar.update(task, completed=done / total, description=f"{dispatch.name}: {text}")

        yield advance
