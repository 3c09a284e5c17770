"""Select the candidate for a box from its timings. A candidate that is not clearly faster than that
of the box before, or than the reference, does not replace it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from ingot.dispatch.candidates import REFERENCE
from ingot.dispatch.measure import Timed
from ingot.dispatch.ranges import Box, Row

CLOSE = 0.03
"""Candidates this close to the fastest are as good."""


def chosen(box: Box, timed: Sequence[Timed], before: str | None) -> Row:
    """The fastest over all sizes of the box; the candidate of the box before, or the reference, if
    that is as good."""
    costs = _costs(timed)
    if not costs:
        return Row(
            box, REFERENCE, 0.0, "nothing was measured" if not timed else "no candidate is valid"
        )
    best = min(costs.values())
    order = [before, REFERENCE, *sorted(costs, key=costs.__getitem__)]
    near = [name for name in order if name in costs and costs[name] - best < CLOSE]
    return row_of(box, timed, near[0])


def row_of(box: Box, timed: Sequence[Timed], serves: str | None) -> Row:
    """A row with its confidence against the next best."""
    assert serves is not None
    costs = _costs(timed)
    others = sorted((name for name in costs if name != serves), key=costs.__getitem__)
    if not others:
        return Row(box, serves, 1.0, "the only candidate that qualified")
    ratio = math.exp(costs[others[0]] - costs[serves])
    confidence = _confidence(timed, serves, others[0])
    return Row(box, serves, confidence, f"measured {ratio:.2f} times as fast as {others[0]}")


def _costs(timed: Sequence[Timed]) -> dict[str, float]:
    """The mean cost of each candidate that ran at all sizes."""
    if not timed:
        return {}
    costs = [each.costs() for each in timed]
    names = [name for name in costs[0] if all(name in each for each in costs)]
    return {name: statistics.fmean(each[name] for each in costs) for name in names}


def _confidence(timed: Sequence[Timed], winner: str, other: str) -> float:
    """The share of rounds, over all sizes, in which `winner` was faster than `other`."""
    pairs = [(a, b) for t in timed for a, b in zip(t.rounds[winner], t.rounds[other], strict=True)]
    return sum(a <= b for a, b in pairs) / len(pairs)
