"""argmax and argmin along rows in two passes: first the best value of each block of a row and the
start of the block, at little more than the cost of max or min; then the position in the first block
that holds the best value. As in eager, the first of equals wins and NaN beats all numbers. Only one
block of a row is computed twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from ingot.codegen.loops.loop_sizes import I64
from ingot.codegen.loops.reduce import across_lanes, advance, is_positional
from ingot.fuse.expr import Reduce, Scan, ordered
from ingot.ops.dtypes import is_float
from ingot.ops.values import Val

if TYPE_CHECKING:
    from ingot.codegen.loops.rows import RowWriter, Slots

STEPS = 2
"""Steps of the vector loop in a block."""
BLOCKS = 16
"""Blocks in a row that make two passes worthwhile."""


def goes_by_blocks(w: RowWriter, groups: Sequence[Sequence[Reduce]]) -> bool:
    vector = w.nest.vector
    if vector is None or w.lanes == 1 or w.nest.inner != (vector,):
        return False
    if not all(is_positional(group[0].kind) for group in groups):
        return False
    if any(isinstance(e, Scan) for e in ordered(group[0].operand for group in groups)):
        return False  # its elements cannot be recomputed
    return isinstance(vector.size, int) and vector.size >= BLOCKS * STEPS * w.lanes


def write_positions(w: RowWriter, groups: Sequence[Sequence[Reduce]]) -> None:
    var = w.nest.vector
    assert var is not None
    best = [Best(w, group) for group in groups]
    roots = [group[0].operand for group in groups]

    def body() -> None:
        for each in best:
            w.accumulate(each.plain, each.block)

    def open_() -> None:
        for each in best:
            w.reset(each.plain, each.block)

    def close(low: Val) -> None:
        for each in best:
            each.close(low)

    w.in_blocks(var, roots, body, open_, close, STEPS)
    for each in best:
        each.finish()


class Best:
    """Best value and position of one reduction."""

    def __init__(self, w: RowWriter, group: Sequence[Reduce]):
        assert w.nest.vector is not None
        self.w, self.b, self.group, self.var = w, w.b, group, w.nest.vector
        reduce = group[0]
        self.plain = replace(reduce, kind=reduce.kind.removeprefix("arg"), part=0, position=None)
        self.block: Slots = w.accumulators(self.plain)
        self.totals: Slots = w.accumulators(reduce)
        first, self.last = w.limits.get(self.var) or (w.const(0), w.size(self.var.size))
        slot, dtype = self.totals[1]
        w.put(slot, self._every_lane(first, dtype))  # if nothing beats the worst value

    def _every_lane(self, value: Val, dtype: torch.dtype) -> Val:
        return self.b.broadcast(self.b.cast(value, dtype), self.w.lanes)

    def _get(self, slots: Slots) -> tuple[Val, ...]:
        return tuple(self.w.get(slot, dtype, self.w.lanes) for slot, dtype in slots)

    def close(self, low: Val) -> None:
        """Adds the block that begins at `low` to the totals."""
        new = (*self._get(self.block), self._every_lane(low, self.totals[1][1]))
        after = advance(self.b, self.group[0].kind, self._get(self.totals), new)
        for (slot, _), value in zip(self.totals, after, strict=True):
            self.w.put(slot, value)

    def finish(self) -> None:
        w, b = self.w, self.b
        values, starts = self._get(self.totals)
        (best,) = across_lanes(b, self.plain.kind, (values,))
        start = b.cast(self._least(starts, self._same(values, best)), I64)
        end = b.minimum(b.add(start, w.const(STEPS * w.lanes)), self.last)
        slot, dtype = w.slot(starts.dtype, w.lanes), starts.dtype
        w.put(slot, self._nowhere(dtype))
        position = self.group[0].position
        assert position is not None

        def body() -> None:
            here = w.position(position, dtype, w.lanes)
            hit = self._same(w.element(self.plain), best)
            if w.tail is not None:
                hit = b.and_(hit, w.tail)
            seen = w.get(slot, dtype, w.lanes)
            w.put(slot, b.minimum(seen, b.select(hit, here, self._nowhere(dtype))))

        w.over(self.var, [self.plain.operand], body, start, end)
        (found,) = across_lanes(b, "min", (w.get(slot, dtype, w.lanes),))
        w.finish_with(self.group, (best, b.cast(found, I64)))

    def _nowhere(self, dtype: torch.dtype) -> Val:
        return self.b.const(torch.iinfo(dtype).max, dtype, self.w.lanes)

    def _least(self, positions: Val, hit: Val) -> Val:
        among = self.b.select(hit, positions, self._nowhere(positions.dtype))
        return across_lanes(self.b, "min", (among,))[0]

    def _same(self, x: Val, best: Val) -> Val:
        """The lanes that have the best value."""
        b, best = self.b, self.b.broadcast(best, x.lanes)
        same = b.cmp("eq", x, best)
        if is_float(x.dtype):
            same = b.or_(same, b.and_(b.isnan(x), b.isnan(best)))
        return same
