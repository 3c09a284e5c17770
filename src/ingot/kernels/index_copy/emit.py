"""index_copy: copies slices of a tensor to the positions in an index, or in order if there is no
index. Both tensors may have any layout. A position out of range returns an error code before
anything is written. Slices are copied one after the other, so that the last one with the same
position wins; a plain copy is shared between threads.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ingot.codegen.jit.jit import compile_module
from ingot.codegen.jit.lazy import OnceStored
from ingot.codegen.jit.native import Native
from ingot.codegen.mlir.functions import I64, Writer
from ingot.codegen.mlir.openmp import openmp_declarations
from ingot.ops.values import Ptr, Val

WITHIN = 4
"""Loops inside a slice."""
FIELDS = (
    "target", "source", "index", "count", "room", "index_step", "target_step", "source_step",
    *(f"{name}{k}" for k in range(WITHIN) for name in ("size", "target", "source")),
)  # fmt: skip
"""The frame. `index` may be null; `room` is the number of positions. Then for each loop inside a
slice its length, and its strides in both tensors, in elements."""
_POINTERS = FIELDS[:3]
ELEMENTS = {size: dtype for dtype in (torch.int8, torch.int16, torch.int32, torch.int64)
            for size in (dtype.itemsize,)}  # fmt: skip
"""Integer dtypes to copy elements as, by size in bytes."""
OUTSIDE = 2
"""The error code: eager raises an IndexError."""
WORK_PER_THREAD = 1 << 16
"""Elements that are worth a thread."""


def index_copy_function(itemsize: int) -> int:
    """The address of the kernel, in the executor's calling convention."""
    return _compiled(ELEMENTS[itemsize]).addresses["place"]


@OnceStored
def _compiled(dtype: torch.dtype) -> Native:
    functions = {"task": _Task(dtype).text(), "place": _entry()}
    return compile_module(list(openmp_declarations().values()), functions)


class _Task(Writer):
    """The function of each thread: its share of the slices."""

    def __init__(self, dtype: torch.dtype):
        super().__init__()
        self.dtype = dtype
        self.own = self.stack(1, I64)
        """The position of a slice if there is no index."""
        self.read_frame(FIELDS, _POINTERS)

    def text(self) -> str:
        b, size = self.b, self.size
        some = self.given(self.pointer["index"])
        low, high = self.share(size["count"], *self.team())
        with self.loop(low, high, self.const(1)) as i:
            b.store(self.own, i)
            named = self.moved(self.pointer["index"], b.mul(i, size["index_step"]), I64)
            place = b.load(self.either(some, named, self.own), I64, 1)
            target = self.moved(
                self.pointer["target"], b.mul(place, size["target_step"]), self.dtype
            )
            source = self.moved(self.pointer["source"], b.mul(i, size["source_step"]), self.dtype)
            self._slice(target, source, 0)
        return self.function("task")

    def _slice(self, target: Ptr, source: Ptr, loop: int) -> None:
        b, size = self.b, self.size
        if loop == WITHIN:
            b.store(target, b.load(source, self.dtype, 1))
            return
        if loop < WITHIN - 1:
            self._loop(target, source, loop)
            return
        one = self.const(1)
        near = [b.cmp("eq", size[f"{name}{loop}"], one) for name in ("target", "source")]
        whole = b.and_(*near)
        with self.when(whole):
            count = b.mul(size[f"size{loop}"], self.const(self.dtype.itemsize))
            b.copy(target, source, count)
        with self.when(b.not_(whole)):
            self._loop(target, source, loop)

    def _loop(self, target: Ptr, source: Ptr, loop: int) -> None:
        b, size = self.b, self.size
        with self.loop(self.const(0), size[f"size{loop}"], self.const(1)) as i:
            places = [
                self.moved(start, b.mul(i, size[f"{name}{loop}"]), self.dtype)
                for name, start in (("target", target), ("source", source))
            ]
            self._slice(places[0], places[1], loop + 1)


def _entry() -> str:
    w = Writer()
    w.read_frame(FIELDS, _POINTERS)
    b, size = w.b, w.size
    some = w.given(w.pointer["index"])
    checked = b.select(some, size["count"], w.const(0))

    def step(i: Val, outside: Sequence[Val]) -> list[Val]:
        at = w.moved(w.pointer["index"], b.mul(i, size["index_step"]), I64)
        place = b.load(at, I64, 1)
        within = b.and_(b.cmp("ge", place, w.const(0)), b.cmp("lt", place, size["room"]))
        return [b.select(within, outside[0], w.const(OUTSIDE))]

    (code,) = w.summed((w.const(0), checked, w.const(1)), [w.const(0)], step)
    work = size["count"]
    for k in range(WITHIN):
        work = b.mul(work, size[f"size{k}"])
    useful = b.select(some, w.const(1), b.div(work, w.const(WORK_PER_THREAD)))
    with w.when(b.cmp("eq", code, w.const(0))):
        w.in_parallel(useful)
    return w.function("place", result=code)
