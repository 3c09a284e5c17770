"""The inner loops of convolutions: a tile of the result, `rows` pixels by `vectors` of channels,
stays in registers while it is summed. Tables give the offsets of the pixels and of the terms of
their sums; the weights are in panels. The result is clamp(sum + bias or contents of c + addend).
Nothing here depends on sizes, strides, windows or borders.

Three kinds of sums:
  runs     terms are pieces of memory: (offset, length) each, one weight row for every element
  terms    the same for pieces of one element: offsets alone
  channels each channel has a sum of its own, a term for each offset (depthwise convolutions)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from ingot.codegen.jit.jit import FUNCTION_ATTRIBUTES, compile_module
from ingot.codegen.jit.lazy import OnceStored
from ingot.codegen.jit.native import Native
from ingot.codegen.mlir.builder import Builder
from ingot.codegen.mlir.functions import I64, Writer
from ingot.ops.kernel_shapes import Shape, tile_shape
from ingot.ops.values import Ptr, Val, Value

ARGUMENTS = (
    "a", "ins", "pieces", "count", "b", "bias", "c", "outs", "addend", "adds", "low", "high",
    "used", "next",
)  # fmt: skip
"""`bias` is null if c holds a part of the sum already, `addend` if there is none; `ins`, `outs` and
`adds` hold the offsets of the rows; `used` is the number of columns that exist; `next` is the
address of as many weights, to be prefetched."""


@dataclass(frozen=True)
class Tile:
    kind: str
    dtype: torch.dtype
    vectors: int
    """Vectors of the panel that are computed."""
    masked: bool
    """Whether the last vector lacks some columns."""

    def shape(self, rows: int) -> Shape:
        return replace(tile_shape(self.dtype), rows=rows, vectors=self.vectors)


def _arguments(dtype: torch.dtype) -> dict[str, Value]:
    kinds = {"count": I64, "used": I64, "low": dtype, "high": dtype}
    return {
        name: Val(f"%{name}", kinds[name]) if name in kinds else Ptr(f"%{name}")
        for name in ARGUMENTS
    }


def tile_function(tile: Tile, rows: int) -> int:
    """The address of the tile function for so many rows."""
    return _compiled(tile, rows).addresses["tile"]


@OnceStored
def _compiled(tile: Tile, rows: int) -> Native:
    return compile_module([], {"tile": _TileWriter(tile, rows).text()})


def begin(dtype: torch.dtype) -> None:
    """Starts compiling the tiles that most convolutions of this dtype need."""
    shape = tile_shape(dtype)
    for rows in (shape.rows, shape.rows - 1):
        _compiled.begin(Tile("runs", dtype, shape.vectors, False), rows)


def clamped(b: Builder, x: Val, low: Val, high: Val) -> Val:
    """NaN stays NaN: it is neither below nor above."""
    for bound, predicate in ((low, "lt"), (high, "gt")):
        wide = b.broadcast(bound, x.lanes)
        x = b.select(b.cmp(predicate, x, wide), wide, x)
    return x


class _TileWriter(Writer):
    def __init__(self, tile: Tile, rows: int):
        super().__init__()
        self.tile, self.rows = tile, rows
        self.shape = tile.shape(rows)
        self.width = tile_shape(tile.dtype).columns

    def text(self) -> str:
        sums = self._sums()
        self._store(sums)
        attributes = FUNCTION_ATTRIBUTES.replace("[[", '["noinline", [')
        arguments = list(_arguments(self.tile.dtype).values())
        return self.function("tile", arguments, attributes=attributes)

    # -- the sum -----------------------------------------------------------------------------------

    def _sums(self) -> list[Val]:
        if self.tile.kind != "channels":
            self._fetch_rows()
        starts = [self._row("a", "ins", i) for i in range(self.rows)]
        first = self._first()
        if self.tile.kind == "runs":
            return self._runs(starts, first)
        return self.summed(
            self._up_to(Val("%count", I64)), first, lambda at, sums: self._term(starts, at, sums)
        )

    def _fetch_rows(self) -> None:
        b, size = self.b, self.shape.columns * self.shape.dtype.itemsize
        for i in range(self.rows):
            b.fetch(self._row("c", "outs", i), size, write=True)
        with self.when(self.given(Ptr("%addend"))):
            for i in range(self.rows):
                b.fetch(self._row("addend", "adds", i), size)

    def _first(self) -> list[Val]:
        """The initial sums: the bias, or the part that c holds."""
        bias = Ptr("%bias")
        given = self.given(bias)
        rows = [self.either(given, bias, self._row("c", "outs", i)) for i in range(self.rows)]
        return [self._vector(rows[i], j) for i, j in self._places()]

    def _term(self, starts: Sequence[Ptr], at: Val, sums: Sequence[Val]) -> list[Val]:
        offset = self.b.load(self.moved(Ptr("%pieces"), at, I64), I64, 1)
        return self._step(starts, offset, self.b.mul(at, self.const(self.width)), sums)

    def _runs(self, starts: Sequence[Ptr], first: Sequence[Val]) -> list[Val]:
        """Run by run; the weights continue from one run to the next."""
        b = self.b

        def run(at: Val, carried: Sequence[Val]) -> list[Val]:
            pair = self.moved(Ptr("%pieces"), b.mul(at, self.const(2)), I64)
            offset = b.load(pair, I64, 1)
            length = b.load(self.moved(pair, self.const(1), I64), I64, 1)
            here = [self.moved(start, offset, self.shape.dtype) for start in starts]
            passed = carried[-1]

            def element(at: Val, sums: Sequence[Val]) -> list[Val]:
                row = b.mul(b.add(passed, at), self.const(self.width))
                return self._step(here, at, row, sums)

            sums = self.summed(self._up_to(length), carried[:-1], element)
            return [*sums, b.add(passed, length)]

        return self.summed(self._up_to(Val("%count", I64)), [*first, self.const(0)], run)[:-1]

    def _step(self, starts: Sequence[Ptr], offset: Val, row: Val, sums: Sequence[Val]) -> list[Val]:
        b, shape = self.b, self.shape
        panel = self.moved(Ptr("%b"), row, shape.dtype)
        right = [self._vector(panel, j, whole=True) for j in range(shape.vectors)]
        if self.tile.kind != "channels":
            size = self.width * shape.dtype.itemsize
            b.fetch(self.moved(Ptr("%next"), row, shape.dtype), size, level=2)
        result = []
        for i, start in enumerate(starts):
            at = self.moved(start, offset, shape.dtype)
            if self.tile.kind == "channels":
                left = [self._vector(at, j) for j in range(shape.vectors)]
            else:
                one = b.broadcast(b.load(at, shape.dtype, 1), shape.lanes)
                left = [one] * shape.vectors
            for j, (x, y) in enumerate(zip(left, right, strict=True)):
                result.append(b.fma(x, y, sums[i * shape.vectors + j]))
        return result

    def _up_to(self, count: Val) -> tuple[Val, Val, Val]:
        return self.const(0), count, self.const(1)

    # -- the result --------------------------------------------------------------------------------

    def _store(self, sums: Sequence[Val]) -> None:
        rows = [self._row("c", "outs", i) for i in range(self.rows)]
        sums = self._with_addend(sums)
        for (i, j), value in zip(self._places(), sums, strict=True):
            at = self.moved(rows[i], self.const(j * self.shape.lanes), self.shape.dtype)
            low, high = Val("%low", value.dtype), Val("%high", value.dtype)
            self.b.store(at, clamped(self.b, value, low, high), self._mask(j))

    def _with_addend(self, sums: Sequence[Val]) -> list[Val]:
        def more() -> list[Val]:
            rows = [self._row("addend", "adds", i) for i in range(self.rows)]
            return [
                self.b.add(value, self._vector(rows[i], j))
                for (i, j), value in zip(self._places(), sums, strict=True)
            ]

        return self.b.branches(self.given(Ptr("%addend")), more, lambda: list(sums))

    # -- rows and vectors --------------------------------------------------------------------------

    def _places(self) -> list[tuple[int, int]]:
        return [(i, j) for i in range(self.rows) for j in range(self.shape.vectors)]

    def _row(self, base: str, table: str, number: int) -> Ptr:
        entry = self.moved(Ptr(f"%{table}"), self.const(number), torch.int32)
        offset = self.b.cast(self.b.load(entry, torch.int32, 1), I64)
        return self.moved(Ptr(f"%{base}"), offset, self.shape.dtype)

    def _vector(self, row: Ptr, number: int, whole: bool = False) -> Val:
        at = self.moved(row, self.const(number * self.shape.lanes), self.shape.dtype)
        mask = None if whole else self._mask(number)
        return self.b.load(at, self.shape.dtype, self.shape.lanes, mask)

    def _mask(self, number: int) -> Val | None:
        """The lanes of the vector that exist; None if all do."""
        if not self.tile.masked or number + 1 < self.shape.vectors:
            return None
        b, lanes = self.b, self.shape.lanes
        left = b.sub(Val("%used", I64), self.const(number * lanes))
        return b.cmp("lt", b.iota(lanes), b.broadcast(left, lanes))
