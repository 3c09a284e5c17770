"""Matrix products of our own: C = A · B + addend, f32 and f64. Comes in: A by rows, B packed into
panels, as it is, as halves, or as 8-bit integers with a scale for each column; goes out: C by rows.
What holds: sizes are arguments, so one piece of code serves all; a panel's part of B stays in the
first cache level while A's rows pass by it, in tiles that fill the registers; sums run over at most
DEPTH terms before they are added up, which keeps the error of long ones low; results do not depend
on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import torch

from ingot.codegen.entry import openmp_declarations
from ingot.codegen.follower import FOLLOWER_TYPE
from ingot.codegen.functions import I64, Writer
from ingot.codegen.jit import FUNCTION_ATTRIBUTES, Native, compile_module
from ingot.codegen.machine import this_machine
from ingot.codegen.once import Once
from ingot.codegen.values import Val

DTYPES = (torch.float32, torch.float64)
DEPTH = 256
"""Terms of a sum that one accumulator takes."""
BLOCK_BYTES = 1 << 18
"""Of A's rows that are worked on at a time: they stay in the second cache level."""
FEW_ROWS = 256
"""So many are worked on together however long they are: B, which may come from memory, is read
once."""
CHAINS = 8
"""Sums that must be under way at a time to keep the multipliers busy."""
WORK_PER_THREAD = 1 << 17
"""Multiplications that are worth waking a thread for, where nothing was measured."""
FIELDS = (
    "a", "lda", "b", "addend", "c", "ldc", "m", "n", "k", "ldadd", "work_per_thread", "follower",
)  # fmt: skip
"""The frame. `addend` may be null; `ldadd` is 0 for one row that is added to all. `follower` is
null or a function (codegen/follower.py) that gets every part of C as soon as it is done; its own
frame lies behind."""
_POINTERS = ("a", "b", "addend", "c", "follower")


@dataclass(frozen=True)
class Shape:
    """A tile of C in registers: `rows` by `vectors` of `lanes`."""

    dtype: torch.dtype
    rows: int
    vectors: int
    lanes: int
    stored: torch.dtype
    """How B's elements lie, a half type for f32; int8: each panel begins with the scales of its
    columns."""

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes

    @property
    def scaled(self) -> bool:
        return self.stored is torch.int8

    @property
    def head(self) -> int:
        """Elements of B in front of a panel's first."""
        return self.columns * self.dtype.itemsize // self.stored.itemsize if self.scaled else 0


ROWS = {512: {1: 12, 2: 12, 4: 6}, 256: {1: 6, 2: 6}, 128: {1: 6, 2: 6}}
"""Of a tile, by the bits of a vector and by vectors: as many sums as leave room for a row of B and
an element of A."""


def tile_shape(dtype: torch.dtype, vectors: int = 2, stored: torch.dtype | None = None) -> Shape:
    bits = this_machine().vector_bits
    return Shape(dtype, ROWS[bits][vectors], vectors, bits // 8 // dtype.itemsize, stored or dtype)


def product_shape(dtype: torch.dtype, stored: torch.dtype | None = None) -> Shape:
    """The widest: few rows of A, which may lie in the way of each other in the first cache level
    (one of 8 places is all that there is for elements some 4 KB apart)."""
    return tile_shape(dtype, max(ROWS[this_machine().vector_bits]), stored)


def dividing_shape(dtype: torch.dtype, columns: int) -> Shape | None:
    """The widest that leaves none of so many columns over."""
    shapes = (tile_shape(dtype, n) for n in sorted(ROWS[this_machine().vector_bits], reverse=True))
    return next((shape for shape in shapes if columns % shape.columns == 0), None)


@cache
def product_function(dtype: torch.dtype, stored: torch.dtype) -> int:
    """The address of the product for `dtype`, in the convention of the executor."""
    return _compiled(dtype, stored).addresses["product"]


def share_function(dtype: torch.dtype, stored: torch.dtype) -> int:
    """What does a thread's share of it."""
    return _compiled(dtype, stored).addresses["task"]


@Once
def _compiled(dtype: torch.dtype, stored: torch.dtype) -> Native:
    functions = {"task": _task(product_shape(dtype, stored)), "product": _entry()}
    return compile_module(list(openmp_declarations().values()), functions)


@Once
def _tiles(shape: Shape) -> Native:
    """Tiles of this shape and less tall ones."""
    return compile_module(
        [], {f"tile{rows}": _tile(shape, rows) for rows in range(1, shape.rows + 1)}
    )


def begin(dtype: torch.dtype) -> None:
    """A product of this dtype will be needed."""
    _tiles.begin(product_shape(dtype))
    _compiled.begin(dtype, dtype)


def call_tile(w: Writer, shape: Shape, rows: Val, *values: Val | str) -> None:
    """A tile of `rows` rows; `values` are its arguments."""
    addresses = _tiles(shape).addresses
    found = [w.const(addresses[f"tile{n}"]) for n in range(1, shape.rows + 1)]
    target = found[-1]
    for height, address in enumerate(found[:-1], 1):
        target = w.b.select(w.b.cmp("eq", rows, w.const(height)), address, target)
    pointer = w.b.fresh()
    w.b.line(f"{pointer} = llvm.inttoptr {target.name} : i64 to !llvm.ptr")
    names = ", ".join(v if isinstance(v, str) else v.name for v in values)
    w.b.line(f"llvm.call {pointer}({names}) : !llvm.ptr, {_tile_type(shape)}")


_TILE_ARGUMENTS = {
    "%a": "!llvm.ptr", "%lda": "i64", "%b": "!llvm.ptr", "%ldb": "i64", "%addend": "!llvm.ptr",
    "%ldadd": "i64", "%c": "!llvm.ptr", "%ldc": "i64", "%k": "i64",
}  # fmt: skip


def _tile_arguments(shape: Shape) -> dict[str, str]:
    return {**_TILE_ARGUMENTS, "%scale": "!llvm.ptr"} if shape.scaled else _TILE_ARGUMENTS


def _tile_type(shape: Shape) -> str:
    return f"({', '.join(_tile_arguments(shape).values())}) -> ()"


def _tile(shape: Shape, rows: int) -> str:
    """c[rows, columns] = addend + a[rows, k] · b[k, columns] · scale[columns]"""
    w = Writer()
    b, dtype = w.b, shape.dtype
    starts = ["%a"]
    for _ in range(1, rows):
        starts.append(w.moved(starts[-1], Val("%lda", I64), dtype))
    width = rows * shape.vectors
    several = max(1, CHAINS // width)
    """Steps with sums of their own: where there are few, each would wait for the one before."""

    def vector(row: str, number: int, kind: torch.dtype) -> Val:
        return b.load(w.moved(row, w.const(number * shape.lanes), kind), kind, shape.lanes)

    def step(at: Val, sums: Sequence[Val]) -> list[Val]:
        panel = w.moved("%b", b.mul(at, Val("%ldb", I64)), shape.stored)
        right = [b.cast(vector(panel, j, shape.stored), dtype) for j in range(shape.vectors)]
        result = []
        for i, start in enumerate(starts):
            left = b.broadcast(b.load(w.moved(start, at, dtype), dtype, 1), shape.lanes)
            result += [b.fma(left, r, sums[i * shape.vectors + j]) for j, r in enumerate(right)]
        return result

    def steps(at: Val, sums: Sequence[Val]) -> list[Val]:
        groups = [sums[k * width : (k + 1) * width] for k in range(several)]
        return [s for k, group in enumerate(groups) for s in step(b.add(at, w.const(k)), group)]

    zero, k = w.const(0), Val("%k", I64)
    sums = [b.const(0, dtype, shape.lanes)] * (several * width)
    whole = b.mul(b.div(k, w.const(several)), w.const(several)) if several > 1 else k
    sums = w.summed((zero, whole, w.const(several)), sums, steps)
    if several > 1:
        for group in range(1, several):
            both = zip(sums[:width], sums[group * width : (group + 1) * width], strict=True)
            sums[:width] = [b.add(x, y) for x, y in both]
        sums = w.summed((whole, k, w.const(1)), sums[:width], step)
    addend, c = "%addend", "%c"
    for i in range(rows):
        if i:
            addend = w.moved(addend, Val("%ldadd", I64), dtype)
            c = w.moved(c, Val("%ldc", I64), dtype)
        for j in range(shape.vectors):
            total, more = sums[i * shape.vectors + j], vector(addend, j, dtype)
            if shape.scaled:
                total = b.fma(total, vector("%scale", j, dtype), more)
            else:
                total = b.add(total, more)
            b.store(w.moved(c, w.const(j * shape.lanes), dtype), total)
    attributes = FUNCTION_ATTRIBUTES.replace("[[", '["noinline", [')
    arguments = ", ".join(f"{name}: {kind}" for name, kind in _tile_arguments(shape).items())
    return w.function(f"@tile{rows}({arguments}) attributes {{{attributes}}}")


class _Task(Writer):
    """What one thread does: its share of the panels, or of the rows where there are few panels."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        b = self.b
        self.whole = self.stack(shape.rows * shape.columns, shape.dtype)
        """A tile that hangs over C's edge."""
        self.row = self.stack(shape.columns, shape.dtype)
        """The addend where there is none, or where reading it would go beyond its end."""
        self.read_frame(FIELDS, _POINTERS)
        self.width = self.const(shape.columns)
        zero = b.const(0, shape.dtype, shape.lanes)
        for j in range(shape.vectors):
            b.store(self.moved(self.row, self.const(j * shape.lanes), shape.dtype), zero)
        self.panels = b.div(b.add(self.size["n"], self.const(shape.columns - 1)), self.width)

    def write(self) -> None:
        b = self.b
        low_panel, high_panel, low_row, high_row = self._share()
        rows = self._block(b.sub(high_row, low_row))
        # A tile of one or two rows sums up in another order: none may be left over, for where one
        # is would depend on the threads.
        some = b.minimum(b.sub(high_row, low_row), self.const(1))
        nearly = b.maximum(b.sub(high_row, self.const(2)), b.add(low_row, some))
        with self.loop(low_row, nearly, rows) as top:
            following = b.add(top, rows)
            bottom = b.select(b.cmp("lt", following, nearly), following, high_row)
            with self.loop(low_panel, high_panel, self.const(1)) as panel:
                left = b.mul(panel, self.width)
                right = b.add(left, self.width)
                inside = b.cmp("le", right, self.size["n"])
                with self.when(inside):
                    self._panel(panel, left, top, bottom)
                with self.when(b.not_(inside)):
                    self._edge(panel, left, top, bottom)
                with self.when(self.given(self.pointer["follower"])):
                    call_follower(self, top, bottom, left, b.minimum(right, self.size["n"]))

    def _block(self, all_rows: Val) -> Val:
        """How many rows are worked on at a time."""
        b, tall = self.b, self.const(self.shape.rows)
        room = self.const(BLOCK_BYTES // self.shape.dtype.itemsize)
        rows = b.mul(b.add(b.div(b.div(room, self.size["k"]), tall), self.const(1)), tall)
        few = b.cmp("le", all_rows, self.const(FEW_ROWS))
        return b.select(few, b.maximum(all_rows, tall), rows)

    def _share(self) -> tuple[Val, Val, Val, Val]:
        b, zero = self.b, self.const(0)
        thread, threads = self.team()
        tall = self.const(self.shape.rows)
        strips = b.div(b.add(self.size["m"], self.const(self.shape.rows - 1)), tall)
        several = b.mul(threads, self.const(4))
        even = b.cmp("eq", b.rem(self.panels, threads), zero)
        by_panels = b.or_(
            b.cmp("ge", self.panels, several), b.and_(even, b.cmp("lt", strips, several))
        )
        # The last two strips share their rows: one thread has both.
        units = b.maximum(b.sub(strips, self.const(1)), self.const(1))
        low_strip, high_strip = self.share(units, thread, threads)
        last = b.cmp("eq", high_strip, units)
        low_panel, high_panel = self.share(self.panels, thread, threads)
        return (
            b.select(by_panels, low_panel, zero),
            b.select(by_panels, high_panel, self.panels),
            b.select(by_panels, zero, b.mul(low_strip, tall)),
            b.select(b.or_(by_panels, last), self.size["m"], b.mul(high_strip, tall)),
        )

    def _addend(self, left: Val) -> tuple[Val, str, Val]:
        """(is there one, its row at `left`, its row stride)"""
        b = self.b
        some = self.given(self.pointer["addend"])
        at = self.moved(self.pointer["addend"], left, self.shape.dtype)
        return some, at, b.select(some, self.size["ldadd"], self.const(0))

    def _panel(self, panel: Val, left: Val, top: Val, bottom: Val) -> None:
        b, dtype = self.b, self.shape.dtype
        some, given, stride = self._addend(left)
        c = self.moved(self.pointer["c"], left, dtype)
        with self.loop(self.const(0), self.size["k"], self.const(DEPTH)) as deep:
            depth = b.minimum(self.const(DEPTH), b.sub(self.size["k"], deep))
            first = b.cmp("eq", deep, self.const(0))
            addend = self.either(first, self.either(some, given, self.row), c)
            step = b.select(first, stride, self.size["ldc"])
            right = self._packed(panel, deep)

            def tile(
                rows: Val, at: Val, right: list[str] = right, deep: Val = deep, depth: Val = depth,
                addend: str = addend, step: Val = step,
            ) -> None:  # fmt: skip
                self._call(
                    rows, self._left(at, deep), right,
                    self.moved(addend, b.mul(at, step), dtype), step,
                    self.moved(c, b.mul(at, self.size["ldc"]), dtype), self.size["ldc"], depth,
                )  # fmt: skip

            self._strips(top, bottom, tile)

    def _edge(self, panel: Val, left: Val, top: Val, bottom: Val) -> None:
        """The last panel, of which only some columns are C's: tile by tile by way of the stack."""
        b, dtype = self.b, self.shape.dtype
        some, given, stride = self._addend(left)
        used = b.sub(self.size["n"], left)
        c = self.moved(self.pointer["c"], left, dtype)

        def tile(rows: Val, at: Val) -> None:
            with self.loop(self.const(0), rows, self.const(1)) as i:
                row = self.moved(self.whole, b.mul(i, self.width), dtype)
                theirs = self.moved(given, b.mul(b.add(at, i), stride), dtype)
                with self.loop(self.const(0), used, self.const(1)) as j, self.when(some):
                    b.store(
                        self.moved(row, j, dtype), b.load(self.moved(theirs, j, dtype), dtype, 1)
                    )
                with self.loop(self.const(0), used, self.const(1)) as j, self.when(b.not_(some)):
                    b.store(self.moved(row, j, dtype), b.const(0, dtype))
            with self.loop(self.const(0), self.size["k"], self.const(DEPTH)) as deep:
                depth = b.minimum(self.const(DEPTH), b.sub(self.size["k"], deep))
                self._call(
                    rows, self._left(at, deep), self._packed(panel, deep), self.whole, self.width,
                    self.whole, self.width, depth,
                )  # fmt: skip
            with self.loop(self.const(0), rows, self.const(1)) as i:
                row = self.moved(self.whole, b.mul(i, self.width), dtype)
                ours = self.moved(c, b.mul(b.add(at, i), self.size["ldc"]), dtype)
                with self.loop(self.const(0), used, self.const(1)) as j:
                    b.store(self.moved(ours, j, dtype), b.load(self.moved(row, j, dtype), dtype, 1))

        self._strips(top, bottom, tile)

    def _strips(self, top: Val, bottom: Val, tile: Callable[[Val, Val], None]) -> None:
        """Tiles from `top` to `bottom`."""
        with self.strips(self.shape.rows, self.b.sub(bottom, top)) as (rows, at):
            tile(rows, self.b.add(top, at))

    def _left(self, row: Val, deep: Val) -> str:
        offset = self.b.add(self.b.mul(row, self.size["lda"]), deep)
        return self.moved(self.pointer["a"], offset, self.shape.dtype)

    def _packed(self, panel: Val, deep: Val) -> list[str]:
        """A part of the panel, and its scales."""
        b, shape = self.b, self.shape
        head = self.const(shape.head)
        long = b.add(b.mul(self.size["k"], self.width), head)
        start = self.moved(self.pointer["b"], b.mul(panel, long), shape.stored)
        part = self.moved(start, b.add(b.mul(deep, self.width), head), shape.stored)
        return [part, start] if shape.scaled else [part]

    def _call(
        self, rows: Val, a: str, right: list[str], addend: str, step: Val, c: str, ldc: Val,
        depth: Val,
    ) -> None:  # fmt: skip
        part, *scale = right
        call_tile(
            self, self.shape, rows, a, self.size["lda"], part, self.width, addend, step, c, ldc,
            depth, *scale,
        )  # fmt: skip


def call_follower(w: Writer, *edges: Val) -> None:
    """What is to be done with C between these rows and columns."""
    frame = w.b.fresh()
    w.b.line(f"{frame} = llvm.getelementptr %frame[{len(FIELDS)}] : (!llvm.ptr) -> !llvm.ptr, i64")
    values = ", ".join([frame, *(edge.name for edge in edges)])
    w.b.line(f"llvm.call {w.pointer['follower']}({values}) : !llvm.ptr, {FOLLOWER_TYPE}")


def _task(shape: Shape) -> str:
    task = _Task(shape)
    task.write()
    return task.function("@task(%frame: !llvm.ptr)")


def _entry() -> str:
    w = Writer()
    b = w.b
    w.read_frame(FIELDS, _POINTERS)
    size = w.size
    work = b.mul(b.mul(size["m"], size["n"]), size["k"])
    w.in_parallel(b.div(work, size["work_per_thread"]))
    return w.function("@product(%frame: !llvm.ptr) -> i64", f" {w.const(0).name} : i64")


def packed(matrix: torch.Tensor, width: int) -> torch.Tensor:
    """B, of shape (k, n) and any strides, as panels: (panels, k, width), padded with zeros."""
    k, n = matrix.shape
    panels = -(-n // width)
    if n % width:
        padded = matrix.new_zeros(k, panels * width)
        padded[:, :n] = matrix
        matrix = padded
    return matrix.reshape(k, panels, width).permute(1, 0, 2).contiguous()


def packed_as(stored: torch.dtype, matrix: torch.Tensor) -> torch.Tensor:
    """B packed, its elements as they are to lie."""
    if stored is torch.int8:
        return packed_int8(matrix)
    return packed(matrix, product_shape(matrix.dtype).columns).to(stored)


def packed_int8(matrix: torch.Tensor) -> torch.Tensor:
    """B as bytes: panels of 8-bit integers, each behind the scales of its columns. The largest of a
    column is 127, so that each element is off by 1/254 of it at most; a column with an infinity or
    a NaN is NaN."""
    scales = torch.maximum(matrix.amax(0), -matrix.amin(0)) / 127
    scales = torch.where(scales.isfinite(), scales, torch.nan)
    whole = (matrix / torch.where(scales > 0, scales, 1)).round_().to(torch.int8)
    width = product_shape(matrix.dtype).columns
    panels = -(-scales.numel() // width)
    heads = scales.new_zeros(panels * width)
    heads[: scales.numel()] = scales
    heads = heads.view(panels, width).view(torch.uint8)
    return torch.cat([heads, packed(whole, width).view(torch.uint8).flatten(1)], 1)
