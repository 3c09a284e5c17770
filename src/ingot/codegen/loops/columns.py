"""Column reductions: several rows are read side by side while the accumulators of a strip of
columns stay in memory, so that every row is read in long runs. The order in which a column's
elements are combined depends on the number of rows only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

import torch

from ingot.codegen.loops.looping import Body
from ingot.codegen.loops.reduce import Accumulators, advance, combine
from ingot.codegen.loops.rows import BLOCK, Phases, RowWriter, Slots, needs_blocks, pairs
from ingot.fuse.expr import Reduce, Scan
from ingot.fuse.loops import Nest
from ingot.ops.values import Ptr, Val

ROWS = 8
"""Rows that are read side by side: the hardware prefetches along each of them."""
STRIP = 2048
"""Columns whose accumulators are kept at a time."""
SHORT, MANY_ROWS, MANY_ELEMENTS = 1024, 512, 1 << 17
"""Threads share the rows if columns × results is at most SHORT (the partial results of chunks lie
on the stack), and if there are at least MANY_ROWS rows and MANY_ELEMENTS elements."""
CHEAP = 12
"""Instructions per element up to which a reduction is memory-bound."""


def is_columnar(nest: Nest, cost: int) -> bool:
    """Whether the nest reduces all rows to one in one pass and stores only the result."""
    if not nest.inner or nest.outer != (nest.vector,) or cost > CHEAP:
        return False
    down = nest.inner[-1].size
    if isinstance(down, int) and down < 2 * ROWS:
        return False
    phases = Phases(nest)
    scans = any(isinstance(e, Scan) for e in nest.expressions())
    return phases.count == 1 and not any(phases.stores) and not scans


def wants_split(nest: Nest, cost: int) -> bool:
    """Whether rows are short and many. Threads then share the rows: with a piece of every short
    row, each thread would read too little at a time."""
    if not is_columnar(nest, cost):
        return False
    columns, rows = nest.outer[0].size, nest.inner[-1].size
    if not isinstance(columns, int) or not isinstance(rows, int):
        return False
    short = columns * len(Phases(nest).reductions[0]) <= SHORT
    return short and rows >= MANY_ROWS and columns * rows >= MANY_ELEMENTS


class Columns:
    """Writes the column reductions of one unit."""

    def __init__(self, writer: RowWriter, reductions: Sequence[Reduce]):
        self.w = writer
        self.roots = [r.operand for r in reductions]
        self.groups = pairs(reductions)
        self.vector = writer.nest.vector
        *self.rest, self.down = writer.nest.inner

    def can_be_written(self) -> bool:
        """False if guards split a loop into segments: such nests take the row code."""
        assert self.vector is not None
        loops = (self.vector, self.down)
        return all(len(self.w.segments(var, self.roots)) == 1 for var in loops)

    def write(self, low: Val | None, high: Val | None, finish: Body) -> None:
        """`finish` stores the results of a vector of columns."""
        w, b = self.w, self.w.b
        assert self.vector is not None
        first, last = low or w.const(0), high or w.size(self.vector.size)
        strip = max(w.lanes, STRIP // w.lanes * w.lanes)
        totals = [self._table(group[0], strip) for group in self.groups]
        blocks = [
            self._table(g[0], strip) if self._in_blocks(g[0]) else total
            for g, total in zip(self.groups, totals, strict=True)
        ]
        with b.loop(first, last, w.const(strip)) as start, w.scope():
            stop = b.minimum(b.add(start, w.const(strip)), last)
            self._across(start, stop, totals, self._reset)
            w.over_all(
                self.rest, self.roots, lambda: self._blocks_of_rows(start, stop, blocks, totals)
            )
            self._across(start, stop, totals, lambda slots: self._finish(slots, finish))

    def _in_blocks(self, reduction: Reduce) -> bool:
        size = self.down.size
        few = isinstance(size, int) and size <= 2 * BLOCK and self.down not in self.w.limits
        return needs_blocks(reduction) and not few

    def _table(self, reduction: Reduce, strip: int) -> Slots:
        w = self.w
        kinds = [value.dtype for value in w.identity_of(reduction)]
        return [(w.slot(dtype, w.lanes, strip // w.lanes), dtype) for dtype in kinds]

    def _across(
        self, start: Val, stop: Val, tables: Sequence[Slots], body: Callable[[list[Slots]], None]
    ) -> None:
        """Runs `body` for each vector of the strip, with the addresses of its accumulators."""
        w = self.w
        assert self.vector is not None
        vector = self.vector

        def step() -> None:
            number = w.b.div(w.b.sub(w.at[vector], start), w.const(w.lanes))
            body([[(self._at(t, number, d), d) for t, d in table] for table in tables])

        w.over(vector, self.roots, step, start, stop)

    def _at(self, table: Ptr, number: Val, dtype: torch.dtype) -> Ptr:
        return self.w.b.register_at(table, number, dtype, self.w.lanes)

    def _reset(self, slots: Sequence[Slots], summed: bool = False) -> None:
        for group, each in zip(self.groups, slots, strict=True):
            if not summed or self._in_blocks(group[0]):
                self.w.reset(group[0], each)

    def _finish(self, slots: Sequence[Slots], finish: Body) -> None:
        for group, each in zip(self.groups, slots, strict=True):
            self.w.finish(group, each)
        finish()

    def _blocks_of_rows(
        self, start: Val, stop: Val, blocks: Sequence[Slots], totals: Sequence[Slots]
    ) -> None:
        w, b = self.w, self.w.b
        first, last = w.limits.get(self.down) or (w.const(0), w.size(self.down.size))
        if not any(self._in_blocks(group[0]) for group in self.groups):
            self._rows(first, last, start, stop, blocks)
            return
        with b.loop(first, last, w.const(BLOCK)) as low, w.scope():
            high = b.minimum(b.add(low, w.const(BLOCK)), last)
            self._across(start, stop, blocks, lambda slots: self._reset(slots, summed=True))
            self._rows(low, high, start, stop, blocks)
            self._across(start, stop, [*blocks, *totals], self._add)

    def _add(self, slots: Sequence[Slots]) -> None:
        count = len(self.groups)
        for group, block, total in zip(self.groups, slots[:count], slots[count:], strict=True):
            if self._in_blocks(group[0]):
                self.w.add_block(group[0], block, total)

    def _rows(self, low: Val, high: Val, start: Val, stop: Val, tables: Sequence[Slots]) -> None:
        """ROWS at a time, then the rest one by one."""
        w, b = self.w, self.w.b
        count = b.sub(high, low)
        middle = b.sub(high, b.rem(count, w.const(ROWS)))
        for first, last, rows in ((low, middle, ROWS), (middle, high, 1)):
            with b.loop(first, last, w.const(rows)) as row, w.scope():
                self._across(start, stop, tables, partial(self._some, row, rows))

    def _some(self, row: Val, rows: int, slots: Sequence[Slots]) -> None:
        """Floats of these rows are first summed among themselves, which is more accurate."""
        parts: list[list[Val]] = [[] for _ in self.groups]
        for k in range(rows):
            self.w.at[self.down] = self.w.b.add(row, self.w.const(k)) if k else row
            with self.w.scope():
                for group, part, each in zip(self.groups, parts, slots, strict=True):
                    if needs_blocks(group[0]):
                        part.append(self.w.element(group[0]))
                    else:
                        self.w.accumulate(group[0], each)
            del self.w.at[self.down]
        for group, part, each in zip(self.groups, parts, slots, strict=True):
            if part:
                total = tuple(self.w.get(slot, dtype, self.w.lanes) for slot, dtype in each)
                added = combine(self.w.b, group[0].kind, total, self._sums(group[0].kind, part))
                for (slot, _), value in zip(each, added, strict=True):
                    self.w.put(slot, value)

    def _sums(self, kind: str, elements: Sequence[Val]) -> Accumulators:
        b, first = self.w.b, elements[0]
        start = (b.mul(first, first), first) if kind == "spread" else (first,)
        return reduce(lambda sums, x: advance(b, kind, sums, (x,)), elements[1:], start)


def columns_of(writer: RowWriter, cost: int) -> Columns | None:
    if writer.lanes == 1 or not is_columnar(writer.nest, cost):
        return None
    columns = Columns(writer, Phases(writer.nest).reductions[0])
    writer.side_by_side = columns.can_be_written()
    return columns if writer.side_by_side else None
