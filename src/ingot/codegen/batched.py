"""Products of two values that are both new in every call: c[i] = a[i] · b[i] for a batch of
matrices. Comes in: a by rows, b in any layout; goes out: c by rows. What holds: each thread has
some panels of some matrices, and packs a part of a panel, which stays in the first cache level,
right before the rows of a pass by; sizes are arguments; results do not depend on the number of
threads.
"""

from __future__ import annotations

from functools import cache

import torch

from ingot.codegen.entry import openmp_declarations
from ingot.codegen.functions import Writer
from ingot.codegen.gemm import DEPTH, WORK_PER_THREAD, call_tile, tile_shape
from ingot.codegen.jit import Native, compile_module
from ingot.codegen.values import Val

FIELDS = (
    "a", "b", "c", "batch", "m", "n", "k",
    "a_matrix", "a_row", "b_matrix", "b_row", "b_column", "c_matrix", "c_row",
)  # fmt: skip
"""The frame; behind the sizes, elements from one to the next."""
_POINTERS = FIELDS[:3]


@cache
def batched_function(dtype: torch.dtype) -> int:
    """The address of the code, in the convention of the executor."""
    return _compiled(dtype).addresses["batched"]


def batched_share(dtype: torch.dtype) -> int:
    """What does a thread's share of it."""
    return _compiled(dtype).addresses["task"]


@cache
def _compiled(dtype: torch.dtype) -> Native:
    functions = {"task": _Task(dtype).text(), "batched": _entry()}
    return compile_module(list(openmp_declarations().values()), functions)


class _Task(Writer):
    """What one thread does."""

    def __init__(self, dtype: torch.dtype):
        super().__init__()
        self.dtype, self.shape = dtype, tile_shape(dtype)
        self.packed = self.stack(DEPTH * self.shape.columns, dtype)
        self.whole = self.stack(self.shape.rows * self.shape.columns, dtype)
        """A tile that hangs over c's edge."""
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
            at = {n: self._matrix(n, number) for n in ("a", "b", "c")}
            used = b.minimum(self.width, b.sub(size["n"], left))
            full = b.cmp("eq", used, self.width)
            with self.loop(self.const(0), size["k"], self.const(DEPTH)) as deep:
                depth = b.minimum(self.const(DEPTH), b.sub(size["k"], deep))
                self._pack(at["b"], deep, depth, left, used)
                first = b.cmp("eq", deep, self.const(0))
                with self.strips(self.shape.rows, size["m"]) as (rows, row):
                    left_at = b.add(b.mul(row, size["a_row"]), deep)
                    a = self.moved(at["a"], left_at, self.dtype)
                    place = b.add(b.mul(row, size["c_row"]), left)
                    c = self.moved(at["c"], place, self.dtype)
                    with self.when(full):
                        self._tile(rows, a, c, size["c_row"], first, depth)
                    with self.when(b.not_(full)):
                        self._edge(rows, a, c, used, first, depth)
        return self.function("@task(%frame: !llvm.ptr)")

    def _matrix(self, name: str, number: Val) -> str:
        offset = self.b.mul(number, self.size[f"{name}_matrix"])
        return self.moved(self.pointer[name], offset, self.dtype)

    def _pack(self, matrix: str, deep: Val, depth: Val, left: Val, used: Val) -> None:
        """`used` columns of b; the others are whatever was there: nobody reads what they give."""
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

    def _tile(self, rows: Val, a: str, c: str, step: Val, first: Val, depth: Val) -> None:
        b = self.b
        addend = self.either(first, self.none, c)
        between = b.select(first, self.const(0), step)
        call_tile(
            self, self.dtype, rows, a, self.size["a_row"], self.packed, self.width,
            addend, between, c, step, depth,
        )  # fmt: skip

    def _edge(self, rows: Val, a: str, c: str, used: Val, first: Val, depth: Val) -> None:
        """By way of the stack."""
        with self.when(self.b.not_(first)):
            self._copy(rows, used, (c, self.size["c_row"]), (self.whole, self.width))
        self._tile(rows, a, self.whole, self.width, first, depth)
        self._copy(rows, used, (self.whole, self.width), (c, self.size["c_row"]))

    def _copy(self, rows: Val, used: Val, source: tuple[str, Val], target: tuple[str, Val]) -> None:
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
    return w.function("@batched(%frame: !llvm.ptr) -> i64", f" {w.const(0).name} : i64")
