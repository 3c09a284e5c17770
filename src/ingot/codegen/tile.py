"""Nests that transpose: stores walk one loop by ones, some loads another. Both loops are cut into
tiles; what is read crosswise goes through registers, transposed, into a small buffer on the stack,
and from there to the ordinary code. What holds: a tile's cache lines are used whole before they
leave the cache; edges are masked, never over-read.
"""

from __future__ import annotations

from ingot.codegen.builder import Builder
from ingot.codegen.rows import RowWriter
from ingot.codegen.values import Val
from ingot.fuse.expr import Load
from ingot.fuse.loops import Nest, crosswise

ROWS = 32
"""Steps of the crosswise loop in a tile: 128 bytes of f32, two cache lines."""
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
        self.bands = -(-nest.across.size // ROWS)
        self.stretches = -(-nest.vector.size // COLUMNS)
        self.memory: dict[Load, str] = {}

    def count(self) -> int:
        return self.bands * self.stretches

    def write(self, unit: Val) -> None:
        """One unit: a band of the crosswise loop by a stretch of the vector loop."""
        w, b = self.writer, self.writer.b
        assert isinstance(self.across.size, int) and isinstance(self.along.size, int)
        self.memory = {load: w.slot(load.dtype, w.lanes, ROWS) for load in self.loads}
        band, stretch = b.div(unit, w.const(self.stretches)), b.rem(unit, w.const(self.stretches))
        top = b.mul(band, w.const(ROWS))
        bottom = b.minimum(b.add(top, w.const(ROWS)), w.const(self.across.size))
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
        """Transpose lanes x lanes blocks of every crosswise load into its tile."""
        w, b = self.writer, self.writer.b
        name = b.fresh()
        b.line(
            f"scf.for {name} = {top.name} to {bottom.name} step {w.const(w.lanes).name} : i64 {{"
        )
        with w.scope():
            start = Val(name, top.dtype)
            mask = None
            if self.across.size % w.lanes:
                mask = b.cmp("lt", b.iota(w.lanes), b.sub(bottom, start))
            for load in self.loads:
                columns = [self._column(load, start, k, mask) for k in range(w.lanes)]
                for k, row in enumerate(transposed(b, columns)):
                    address = self._row(load, b.add(b.sub(start, top), w.const(k)))
                    b.line(f"llvm.store {row.name}, {address} : {row.type}, !llvm.ptr")
        b.line("}")

    def _column(self, load: Load, start: Val, k: int, mask: Val | None) -> Val:
        """`lanes` steps of the crosswise loop at the k-th step of the vector; beyond the edge the
        last one again."""
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
        return b.load(pointer, load.dtype, w.lanes, mask)


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
