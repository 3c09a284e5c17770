"""Matmuls of one matrix with several others: C = A · B + addend for each B, in f32 and f64. A and C
are row-major; every B is packed into panels (ops/panels.py). Sizes are arguments, so one function
serves all.

Threads share the panels of all B, so that none waits between one matmul and the next, and cached
rows of A serve them all. A panel's part of B stays in the L1 cache while A's rows pass by it. Sums
run over at most DEPTH terms before they are added up, which keeps the error of long ones low.
Results depend neither on the number of threads nor on the other matmuls of the launch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from ingot.codegen.jit.jit import compile_module
from ingot.codegen.jit.lazy import OnceStored
from ingot.codegen.jit.native import Native
from ingot.codegen.loops.gemm import DEPTH, begin_tiles, call_tile
from ingot.codegen.mlir.functions import I64, Writer
from ingot.codegen.mlir.memory import FRAME
from ingot.codegen.mlir.openmp import openmp_declarations
from ingot.ops.kernel_shapes import Shape, matmul_shape
from ingot.ops.values import Ptr, Val

BLOCK_BYTES = 1 << 18
"""Bytes of A's rows in one block: they stay in the L2 cache."""
FEW_ROWS = 256
"""Up to so many rows are one block however long they are: B, which may come from memory, is read
once."""
FIELDS = ("a", "lda", "m", "k", "useful", "in_step", "count")
"""The frame, up to the first of `count` matmuls. `useful`: threads with enough work. `in_step`: all
have the same number of columns, and an epilogue may read the same part of earlier results."""
EACH = ("words", "b", "addend", "c", "ldc", "n", "ldadd", "epilogue")
"""A matmul in the frame, `words` in all. `addend` may be null; `ldadd` is 0 for one row that is
added to all. `epilogue` is null or a function (codegen/loops/epilogue.py) that gets every part of C
as soon as it is done; its own frame follows."""
_EACH_POINTERS = ("b", "addend", "c", "epilogue")
_EDGES = ("low", "high", "top", "bottom")
_MATMUL = Ptr("%each")


def matmul_function(dtype: torch.dtype, stored: torch.dtype) -> int:
    """The address of the matmuls for `dtype`, in the executor's calling convention."""
    return _compiled(dtype, stored).addresses["matmul"]


def share_function(dtype: torch.dtype, stored: torch.dtype) -> int:
    """The address of the function for one thread's share."""
    return _compiled(dtype, stored).addresses["task"]


@OnceStored
def _compiled(dtype: torch.dtype, stored: torch.dtype) -> Native:
    shape = matmul_shape(dtype, stored)
    panels = _Panels(shape)
    functions = {"panels": panels.text(), "task": _Task(shape).text(), "matmul": _entry()}
    declared = {**openmp_declarations(), **panels.b.declarations}
    return compile_module(list(declared.values()), functions)


def begin(dtype: torch.dtype) -> None:
    """Starts compiling matmuls of this dtype ahead of time."""
    begin_tiles(dtype)
    _compiled.begin(dtype, dtype)


class _Panels(Writer):
    """Computes some panels of one matmul, in some of its rows."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        b = self.b
        self.whole = self.stack(shape.rows * shape.columns, shape.dtype)
        """A tile that extends past C's edge."""
        self.row = self.stack(shape.columns, shape.dtype)
        """The addend if there is none, or if reading it would go past its end."""
        self.read_frame(FIELDS, ("a",))
        self.read_frame(EACH, _EACH_POINTERS, _MATMUL)
        self.width = self.const(shape.columns)
        zero = b.const(0, shape.dtype, shape.lanes)
        for j in range(shape.vectors):
            b.store(self.moved(self.row, self.const(j * shape.lanes), shape.dtype), zero)

    def text(self) -> str:
        b = self.b
        edges = [Val(f"%{name}", I64) for name in _EDGES]
        low, high, top, bottom = edges
        with self.loop(low, high, self.const(1)) as panel:
            left = b.mul(panel, self.width)
            right = b.add(left, self.width)
            inside = b.cmp("le", right, self.size["n"])
            with self.when(inside):
                self._panel(panel, left, top, bottom)
            with self.when(b.not_(inside)):
                self._edge(panel, left, top, bottom)
            with self.when(self.given(self.pointer["epilogue"])):
                self._follow(top, bottom, left, b.minimum(right, self.size["n"]))
        return self.function("panels", [FRAME, _MATMUL, *edges])

    def _follow(self, *edges: Val) -> None:
        """Calls the epilogue on C between these rows and columns."""
        frame = self.b.word_at(_MATMUL, len(EACH))
        self.b.invoke(self.pointer["epilogue"], [frame, *edges])

    def _addend(self, left: Val) -> tuple[Val, Ptr, Val]:
        """(whether there is an addend, its row at `left`, its row stride)"""
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
                rows: Val, at: Val, right: list[Ptr] = right, deep: Val = deep, depth: Val = depth,
                addend: Ptr = addend, step: Val = step,
            ) -> None:  # fmt: skip
                self._call(
                    rows, self._left(at, deep), right,
                    self.moved(addend, b.mul(at, step), dtype), step,
                    self.moved(c, b.mul(at, self.size["ldc"]), dtype), self.size["ldc"], depth,
                )  # fmt: skip

            self._strips(top, bottom, tile)

    def _edge(self, panel: Val, left: Val, top: Val, bottom: Val) -> None:
        """The last panel, which extends past C's edge: tile by tile on the stack."""
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

    def _left(self, row: Val, deep: Val) -> Ptr:
        offset = self.b.add(self.b.mul(row, self.size["lda"]), deep)
        return self.moved(self.pointer["a"], offset, self.shape.dtype)

    def _packed(self, panel: Val, deep: Val) -> list[Ptr]:
        """A part of the panel, and its scales."""
        b, shape = self.b, self.shape
        head = self.const(shape.head)
        long = b.add(b.mul(self.size["k"], self.width), head)
        start = self.moved(self.pointer["b"], b.mul(panel, long), shape.stored)
        part = self.moved(start, b.add(b.mul(deep, self.width), head), shape.stored)
        return [part, start] if shape.scaled else [part]

    def _call(
        self, rows: Val, a: Ptr, right: list[Ptr], addend: Ptr, step: Val, c: Ptr, ldc: Val,
        depth: Val,
    ) -> None:  # fmt: skip
        part, *scale = right
        call_tile(
            self, self.shape, rows, a, self.size["lda"], part, self.width, addend, step, c, ldc,
            depth, *scale,
        )  # fmt: skip


class _Task(Writer):
    """The function of each thread: its share of all panels, or of the rows if there are few
    panels."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.read_frame(FIELDS, ("a",))

    def text(self) -> str:
        b = self.b
        low_panel, high_panel, low_row, high_row = self._share(self._over_products())
        rows = self._block(b.sub(high_row, low_row))
        # A tile of one or two rows sums in another order. None may be left over, because its
        # position would depend on the number of threads.
        some = b.minimum(b.sub(high_row, low_row), self.const(1))
        nearly = b.maximum(b.sub(high_row, self.const(2)), b.add(low_row, some))
        with self.loop(low_row, nearly, rows) as top:
            following = b.add(top, rows)
            bottom = b.select(b.cmp("lt", following, nearly), following, high_row)

            def part(each: Ptr, before: Val, panels: Val) -> None:
                ends = (low_panel, high_panel)
                low, high = (self._within(b.sub(end, before), panels) for end in ends)
                with self.when(b.cmp("lt", low, high)):
                    b.invoke("panels", [FRAME, each, low, high, top, bottom])

            self._over_products(part)
        return self.function("task")

    def _within(self, value: Val, most: Val) -> Val:
        return self.b.minimum(self.b.maximum(value, self.const(0)), most)

    def _over_products(self, do: Callable[[Ptr, Val, Val], None] | None = None) -> Val:
        """Calls `do` with each matmul, the panels before it, and its number of panels; returns the
        total. Matmuls in step count as one: a thread has the same panels of each, one matmul after
        the other."""
        b, width, zero = self.b, self.const(self.shape.columns), self.const(0)
        in_step = b.cmp("ne", self.size["in_step"], zero)

        def step(_: Val, carried: Sequence[Val]) -> list[Val]:
            at, before, _ = carried
            each = self.moved(FRAME, at, I64)
            self.read_frame(EACH, _EACH_POINTERS, each)
            panels = b.div(b.add(self.size["n"], b.sub(width, self.const(1))), width)
            if do is not None:
                do(each, before, panels)
            end = b.add(before, panels)
            return [b.add(at, self.size["words"]), b.select(in_step, zero, end), end]

        extent = (zero, self.size["count"], self.const(1))
        return self.summed(extent, [self.const(len(FIELDS)), zero, zero], step)[2]

    def _block(self, all_rows: Val) -> Val:
        """Rows of one block."""
        b, tall = self.b, self.const(self.shape.rows)
        room = self.const(BLOCK_BYTES // self.shape.dtype.itemsize)
        rows = b.mul(b.add(b.div(b.div(room, self.size["k"]), tall), self.const(1)), tall)
        few = b.cmp("le", all_rows, self.const(FEW_ROWS))
        return b.select(few, b.maximum(all_rows, tall), rows)

    def _share(self, panels: Val) -> tuple[Val, Val, Val, Val]:
        b, zero = self.b, self.const(0)
        thread, threads = self.team()
        tall = self.const(self.shape.rows)
        strips = b.div(b.add(self.size["m"], self.const(self.shape.rows - 1)), tall)
        several = b.mul(threads, self.const(4))
        even = b.cmp("eq", b.rem(panels, threads), zero)
        by_panels = b.or_(b.cmp("ge", panels, several), b.and_(even, b.cmp("lt", strips, several)))
        # The last two strips share their rows: one thread takes both.
        units = b.maximum(b.sub(strips, self.const(1)), self.const(1))
        low_strip, high_strip = self.share(units, thread, threads)
        last = b.cmp("eq", high_strip, units)
        low_panel, high_panel = self.share(panels, thread, threads)
        return (
            b.select(by_panels, low_panel, zero),
            b.select(by_panels, high_panel, panels),
            b.select(by_panels, zero, b.mul(low_strip, tall)),
            b.select(b.or_(by_panels, last), self.size["m"], b.mul(high_strip, tall)),
        )


def _entry() -> str:
    w = Writer()
    w.read_frame(FIELDS, ("a",))
    w.in_parallel(w.size["useful"])
    return w.function("matmul", result=w.const(0))
