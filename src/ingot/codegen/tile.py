"""Nests that transpose: stores walk one loop by ones, some loads another. Both loops are cut into
tiles; what is read crosswise goes through registers, transposed, into a small buffer on the stack,
and from there to the ordinary code. What holds: a tile's cache lines are used whole before they
leave the cache; edges are masked, never over-read.
"""

from __future__ import annotations

import itertools

import torch

from ingot.codegen.builder import Builder
from ingot.codegen.rows import RowWriter
from ingot.codegen.values import Val
from ingot.fuse.expr import Load
from ingot.fuse.loops import Nest, crosswise

ROW_BYTES = 512
"""Of what is read crosswise, in one piece: eight neighbouring cache lines, which is what it takes
to set the prefetcher going."""
COLUMNS = 512
"""Steps of the vector loop that one unit does."""


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
        self.rows = ROW_BYTES // min(load.dtype.itemsize for load in self.loads)
        """Steps of the crosswise loop in a tile."""
        self.bands = -(-nest.across.size // self.rows)
        self.stretches = -(-nest.vector.size // COLUMNS)
        self.memory: dict[Load, str] = {}
        self.block = self._side()
        """What is transposed in registers at a time: a square of this side."""

    def _side(self) -> int:
        if any(load.dtype is torch.bool for load in self.loads):
            return self.writer.lanes  # a row is bits, which have no addresses of their own
        widest = max(load.dtype.itemsize for load in self.loads)
        return min(self.writer.lanes, self.writer.b.register_bytes // max(4, widest))

    def count(self) -> int:
        return self.bands * self.stretches

    def write(self, unit: Val) -> None:
        """One unit: a band of the crosswise loop by a stretch of the vector loop."""
        w, b = self.writer, self.writer.b
        assert isinstance(self.across.size, int) and isinstance(self.along.size, int)
        self.memory = {load: w.slot(load.dtype, w.lanes, self.rows) for load in self.loads}
        band, stretch = b.div(unit, w.const(self.stretches)), b.rem(unit, w.const(self.stretches))
        top = b.mul(band, w.const(self.rows))
        bottom = b.minimum(b.add(top, w.const(self.rows)), w.const(self.across.size))
        left = b.mul(stretch, w.const(COLUMNS))
        right = b.minimum(b.add(left, w.const(COLUMNS)), w.const(self.along.size))
        even = self.along.size if self.along.size % w.lanes == 0 else None
        w.vector_loop(self.along, left, right, even, lambda: self._tile(top, bottom))

    def _tile(self, top: Val, bottom: Val) -> None:
        w = self.writer
        self._fill(top, bottom)

        def row() -> None:
            at = w.b.sub(w.at[self.across], top)
            for load in self.loads:
                kind = Val("", load.dtype, w.lanes).type
                address = self._row(load, at)
                value = w.b.assign(
                    f"llvm.load {address} : !llvm.ptr -> {kind}", load.dtype, w.lanes
                )
                w.memo[-1][load] = value
            w.row()

        w.loop(self.across, top, bottom, row)

    def _row(self, load: Load, at: Val) -> str:
        name = self.writer.b.fresh()
        kind = Val("", load.dtype, self.writer.lanes).type
        self.writer.b.line(
            f"{name} = llvm.getelementptr {self.memory[load]}[{at.name}] : "
            f"(!llvm.ptr, i64) -> !llvm.ptr, {kind}"
        )
        return name

    def _fill(self, top: Val, bottom: Val) -> None:
        """Transpose blocks of every crosswise load into its tile."""
        w, b, side = self.writer, self.writer.b, self.block
        name = b.fresh()
        b.line(f"scf.for {name} = {top.name} to {bottom.name} step {w.const(side).name} : i64 {{")
        with w.scope():
            start = Val(name, top.dtype)
            mask = None
            if self.across.size % side:
                mask = b.cmp("lt", b.iota(side), b.sub(bottom, start))
            for load, left in itertools.product(self.loads, range(0, w.lanes, side)):
                columns = [self._column(load, start, left + k, mask) for k in range(side)]
                for k, row in enumerate(transposed(b, columns)):
                    self._keep(load, b.add(b.sub(start, top), w.const(k)), left, row)
        b.line("}")

    def _keep(self, load: Load, at: Val, left: int, row: Val) -> None:
        """Store a block's row into the tile, `left` elements into the tile's row."""
        b = self.writer.b
        address = self._row(load, at)
        if left:
            start, block = b.fresh(), self.writer.const(left // self.block)
            b.line(
                f"{start} = llvm.getelementptr {address}[{block.name}] : "
                f"(!llvm.ptr, i64) -> !llvm.ptr, {row.type}"
            )
            address = start
        b.line(f"llvm.store {row.name}, {address} : {row.type}, !llvm.ptr")

    def _column(self, load: Load, start: Val, k: int, mask: Val | None) -> Val:
        """A block's side of steps of the crosswise loop at the k-th step of the vector; beyond the
        edge the last one again."""
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
    low = ", ".join(str(x) for k in range(n // 2) for x in (k, k + n))
    high = ", ".join(str(x) for k in range(n // 2, n) for x in (k, k + n))
    rounds = n.bit_length() - 1
    for _ in range(rounds):
        mixed = []
        for k in range(n // 2):
            x, y = rows[k], rows[k + n // 2]
            for picks in (low, high):
                text = f"vector.shuffle {x.name}, {y.name} [{picks}] : {x.type}, {y.type}"
                mixed.append(b.assign(text, x.dtype, n))
        rows = mixed
    return rows
