"""Kernel for matmuls of two activations, c[i] = addend[i] + a[i] · b[i] for some matrices. a, the
addend and c are row-major; b has any layout. Each thread has some panels of some matrices. It packs
a part of a panel, which stays in the L1 cache, right before it multiplies rows of a by it. Sizes
are arguments. Results do not depend on the number of threads.
"""

from __future__ import annotations

import torch

from ingot.codegen.jit.jit import compile_module
from ingot.codegen.jit.lazy import OnceStored
from ingot.codegen.jit.native import Native
from ingot.codegen.loops.gemm import DEPTH, WORK_PER_THREAD, call_tile
from ingot.codegen.mlir.functions import Writer
from ingot.codegen.mlir.openmp import openmp_declarations
from ingot.ops.kernel_shapes import tile_shape
from ingot.ops.values import Ptr, Val

FIELDS = (
    "a", "b", "c", "addend", "batch", "m", "n", "k",
    "a_matrix", "a_row", "b_matrix", "b_row", "b_column", "c_matrix", "c_row",
    "addend_matrix", "addend_row",
)  # fmt: skip
"""The frame; after the sizes, strides in elements. `addend` may be null."""
_POINTERS = FIELDS[:4]


Rows = tuple[Ptr, Val]
"""The address of the first row, and the row stride in elements."""


def batched_function(dtype: torch.dtype) -> int:
    """The address of the kernel, in the executor's calling convention."""
    return _compiled(dtype).addresses["batched"]


def batched_share(dtype: torch.dtype) -> int:
    """The address of the function for one thread's share."""
    return _compiled(dtype).addresses["task"]


@OnceStored
def _compiled(dtype: torch.dtype) -> Native:
    task = _Task(dtype)
    functions = {"task": task.text(), "batched": _entry()}
    declared = {**openmp_declarations(), **task.b.declarations}
    return compile_module(list(declared.values()), functions)


class _Task(Writer):
    """The function of each thread."""

    def __init__(self, dtype: torch.dtype):
        super().__init__()
        self.dtype, self.shape = dtype, tile_shape(dtype)
        self.packed = self.stack(DEPTH * self.shape.columns, dtype)
        self.whole = self.stack(self.shape.rows * self.shape.columns, dtype)
        """A tile that extends past c's edge."""
        self.none = self.stack(self.shape.columns, dtype)
        """A row of zeros."""
        self.read_frame(FIELDS, _POINTERS)
        b = self.b
        self.width = self.const(self.shape.columns)
        zero = b.const(0, dtype, self.shape.lanes)
        for j in range(self.shape.vectors):
            b.store(self.moved(self.none, self.const(j * self.shape.lanes), dtype), zero)

    def text(self) -> str:
        b, size = self.b, self.size
        panels = b.div(b.add(size["n"], self.const(self.shape.columns - 1)), self.width)
        low, high = self.share(b.mul(size["batch"], panels), *self.team())
        with self.loop(low, high, self.const(1)) as unit:
            number, left = b.div(unit, panels), b.mul(b.rem(unit, panels), self.width)
            at = {name: self._matrix(name, number) for name in _POINTERS}
            used = b.minimum(self.width, b.sub(size["n"], left))
            full = b.cmp("eq", used, self.width)
            with self.loop(self.const(0), size["k"], self.const(DEPTH)) as deep:
                depth = b.minimum(self.const(DEPTH), b.sub(size["k"], deep))
                self._pack(at["b"], deep, depth, left, used)
                with self.strips(self.shape.rows, size["m"]) as (rows, row):
                    left_at = b.add(b.mul(row, size["a_row"]), deep)
                    a = self.moved(at["a"], left_at, self.dtype)
                    c = self._row(at, "c", row, left)
                    before = self._before(at, c, row, left, deep)
                    with self.when(full):
                        self._tile(rows, a, (c, size["c_row"]), before, depth)
                    with self.when(b.not_(full)):
                        self._edge(rows, a, (c, size["c_row"]), before, used, depth)
        return self.function("task")

    def _matrix(self, name: str, number: Val) -> Ptr:
        offset = self.b.mul(number, self.size[f"{name}_matrix"])
        return self.moved(self.pointer[name], offset, self.dtype)

    def _pack(self, matrix: Ptr, deep: Val, depth: Val, left: Val, used: Val) -> None:
        """Packs `used` columns of b. The others keep old contents; their results are never read."""
        b, size = self.b, self.size
        corner = b.add(b.mul(deep, size["b_row"]), b.mul(left, size["b_column"]))
        start = self.moved(matrix, corner, self.dtype)
        rows = b.and_(b.cmp("eq", size["b_column"], self.const(1)), b.cmp("eq", used, self.width))
        with self.when(rows), self.loop(self.const(0), depth, self.const(1)) as i:
            source = self.moved(start, b.mul(i, size["b_row"]), self.dtype)
            target = self.moved(self.packed, b.mul(i, self.width), self.dtype)
            for number in range(self.shape.vectors):
                at = self.const(number * self.shape.lanes)
                value = b.load(self.moved(source, at, self.dtype), self.dtype, self.shape.lanes)
                b.store(self.moved(target, at, self.dtype), value)
        with (
            self.when(b.not_(rows)),
            self.loop(self.const(0), used, self.const(1)) as j,
            self.loop(self.const(0), depth, self.const(1)) as i,
        ):
            offset = b.add(b.mul(i, size["b_row"]), b.mul(j, size["b_column"]))
            value = b.load(self.moved(start, offset, self.dtype), self.dtype, 1)
            b.store(self.moved(self.packed, b.add(b.mul(i, self.width), j), self.dtype), value)

    def _row(self, at: dict[str, Ptr], name: str, row: Val, left: Val) -> Ptr:
        offset = self.b.add(self.b.mul(row, self.size[f"{name}_row"]), left)
        return self.moved(at[name], offset, self.dtype)

    def _before(
        self, at: dict[str, Ptr], c: Ptr, row: Val, left: Val, deep: Val
    ) -> tuple[Val, Rows]:
        """(whether the sum starts at zero, the rows that it continues otherwise)"""
        b = self.b
        first = b.cmp("eq", deep, self.const(0))
        some = self.given(self.pointer["addend"])
        start = self.either(first, self._row(at, "addend", row, left), c)
        step = b.select(first, self.size["addend_row"], self.size["c_row"])
        return b.and_(first, b.not_(some)), (start, step)

    def _tile(self, rows: Val, a: Ptr, c: Rows, before: tuple[Val, Rows], depth: Val) -> None:
        nothing, (start, step) = before
        addend = self.either(nothing, self.none, start)
        between = self.b.select(nothing, self.const(0), step)
        call_tile(
            self, self.shape, rows, a, self.size["a_row"], self.packed, self.width,
            addend, between, *c, depth,
        )  # fmt: skip

    def _edge(
        self, rows: Val, a: Ptr, c: Rows, before: tuple[Val, Rows], used: Val, depth: Val
    ) -> None:
        """Computes a tile on the stack and copies the part inside c."""
        nothing, given = before
        whole = (self.whole, self.width)
        with self.when(self.b.not_(nothing)):
            self._copy(rows, used, given, whole)
        self._tile(rows, a, whole, (nothing, whole), depth)
        self._copy(rows, used, whole, c)

    def _copy(self, rows: Val, used: Val, source: Rows, target: Rows) -> None:
        b = self.b
        with (
            self.loop(self.const(0), rows, self.const(1)) as i,
            self.loop(self.const(0), used, self.const(1)) as j,
        ):
            places = [
                self.moved(start, b.add(b.mul(i, step), j), self.dtype)
                for start, step in (source, target)
            ]
            b.store(places[1], b.load(places[0], self.dtype, 1))


def _entry() -> str:
    w = Writer()
    w.read_frame(FIELDS, _POINTERS)
    b, size = w.b, w.size
    work = b.mul(b.mul(size["batch"], size["m"]), b.mul(size["n"], size["k"]))
    w.in_parallel(b.div(work, w.const(WORK_PER_THREAD)))
    return w.function("batched", result=w.const(0))
