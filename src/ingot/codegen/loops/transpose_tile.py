"""Tiles of nests that transpose: stores are contiguous along one loop, some loads along another.
These crosswise loads are transposed in registers, a square at a time, and go through the stack to
the row code. Squares follow each other along the loads, because reads wait for memory and writes do
not. Cache lines are read and written whole; edges are masked, never over-read.
"""

from __future__ import annotations

import itertools

import torch

from ingot.codegen.loops.rows import RowWriter
from ingot.codegen.mlir.builder import Builder
from ingot.fuse.expr import Load
from ingot.fuse.loops import Nest, crosswise
from ingot.ops.values import Ptr, Val

LARGEST = 512
"""Steps of either loop in one unit, if there are enough."""
ENOUGH = 8
"""Units for threads to share."""


class Tiles:
    def __init__(self, nest: Nest, writer: RowWriter):
        assert nest.across is not None and nest.vector is not None
        assert isinstance(nest.across.size, int) and isinstance(nest.vector.size, int)
        self.nest = nest
        self.writer = writer
        self.across, self.along = nest.across, nest.vector
        self.loads = [
            e
            for e in nest.expressions()
            if isinstance(e, Load) and crosswise(nest, e.index) is nest.across
        ]
        self.rows = self.columns = LARGEST
        """Steps of the crosswise loop and of the vector loop in one unit."""
        while self.count() < ENOUGH and self.columns >= 4 * writer.lanes:
            self.rows = self.columns = self.columns // 2
        self.memory: dict[Load, Ptr] = {}
        self.block = self._side()
        """Side of the square that is transposed in registers at a time."""

    def _side(self) -> int:
        if any(load.dtype is torch.bool for load in self.loads):
            return self.writer.lanes  # a row is bits, which have no addresses of their own
        widest = max(load.dtype.itemsize for load in self.loads)
        return min(self.writer.lanes, self.writer.b.register_bytes // max(4, widest))

    def count(self) -> int:
        return self._bands() * self._stretches()

    def _bands(self) -> int:
        assert isinstance(self.across.size, int)
        return -(-self.across.size // self.rows)

    def _stretches(self) -> int:
        assert isinstance(self.along.size, int)
        return -(-self.along.size // self.columns)

    def write(self, unit: Val) -> None:
        """One unit: a band of the crosswise loop by a stretch of the vector loop."""
        w, b = self.writer, self.writer.b
        assert isinstance(self.across.size, int) and isinstance(self.along.size, int)
        self.memory = {load: w.slot(load.dtype, w.lanes, self.block) for load in self.loads}
        stretches = w.const(self._stretches())
        top = b.mul(b.div(unit, stretches), w.const(self.rows))
        bottom = b.minimum(b.add(top, w.const(self.rows)), w.const(self.across.size))
        left = b.mul(b.rem(unit, stretches), w.const(self.columns))
        right = b.minimum(b.add(left, w.const(self.columns)), w.const(self.along.size))
        even = self.along.size if self.along.size % w.lanes == 0 else None
        w.vector_loop(self.along, left, right, even, lambda: self._tile(top, bottom))

    def _tile(self, top: Val, bottom: Val) -> None:
        w, b = self.writer, self.writer.b
        assert isinstance(self.across.size, int)
        if self.across.size % self.block == 0:
            self._squares(top, bottom)
            return
        rest = b.rem(b.sub(bottom, top), w.const(self.block))
        whole = b.sub(bottom, rest)
        self._squares(top, whole)
        self._squares(whole, bottom, rest)

    def _squares(self, low: Val, high: Val, rest: Val | None = None) -> None:
        """The squares of a band; the last one has only `rest` steps."""
        w, b = self.writer, self.writer.b
        side = w.const(self.block)
        mask = None if rest is None else b.cmp("lt", b.iota(self.block), rest)
        with b.loop(low, high, side) as start, w.scope():
            self._fill(start, mask)
            w.loop(self.across, start, b.add(start, rest or side), lambda: self._put(start))

    def _put(self, start: Val) -> None:
        """Computes a row of the square that begins at `start`."""
        w = self.writer
        at = w.b.sub(w.at[self.across], start)
        for load in self.loads:
            w.memo[-1][load] = w.get(self._row(load, at), load.dtype, w.lanes)
        w.row()

    def _row(self, load: Load, at: Val) -> Ptr:
        w = self.writer
        return w.b.register_at(self.memory[load], at, load.dtype, w.lanes)

    def _fill(self, start: Val, mask: Val | None) -> None:
        """Transposes squares of every crosswise load, side by side if a vector is wider."""
        w, b, side = self.writer, self.writer.b, self.block
        for load, left in itertools.product(self.loads, range(0, w.lanes, side)):
            columns = [self._column(load, start, left + k, mask) for k in range(side)]
            for k, row in enumerate(transposed(b, columns)):
                self._keep(load, w.const(k), left, row)

    def _keep(self, load: Load, at: Val, left: int, row: Val) -> None:
        """Stores a row of a square `left` elements into the tile's row."""
        b = self.writer.b
        address = self._row(load, at)
        if left:
            block = self.writer.const(left // self.block)
            address = b.register_at(address, block, row.dtype, row.lanes)
        b.store_register(address, row)

    def _column(self, load: Load, start: Val, k: int, mask: Val | None) -> Val:
        """As many steps of the crosswise loop as a square has, at step k of the vector; beyond the
        edge, those of the last step."""
        w, b = self.writer, self.writer.b
        first = w.at[self.along]
        here = b.add(first, w.const(k)) if k else first
        if w.tail is not None:
            here = b.minimum(here, w.const(self.along.size - 1))
        w.at[self.along], w.at[self.across] = here, start
        pointer = b.pointer_at(
            w.buffers[load.buffer], w.index(load.index, first_lane=True), load.dtype
        )
        w.at[self.along] = first
        del w.at[self.across]
        return b.load(pointer, load.dtype, self.block, mask)


def transposed(b: Builder, rows: list[Val]) -> list[Val]:
    """A square of vectors, transposed by rounds of interleaving."""
    n = len(rows)
    low = [x for k in range(n // 2) for x in (k, k + n)]
    high = [x for k in range(n // 2, n) for x in (k, k + n)]
    rounds = n.bit_length() - 1
    for _ in range(rounds):
        mixed = []
        for k in range(n // 2):
            x, y = rows[k], rows[k + n // 2]
            mixed += [b.shuffle(x, y, low), b.shuffle(x, y, high)]
        rows = mixed
    return rows
