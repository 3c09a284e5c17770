"""Writes functions that are not loop nests, such as matmuls and attention. A function
reads its sizes and pointers from the frame that the executor fills. The threads of a team share
work by thread number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import torch

from ingot.codegen.mlir.memory import FRAME
from ingot.codegen.mlir.openmp import (
    has_openmp,
    most_threads,
    start_threads,
    thread_count,
    thread_number,
)
from ingot.codegen.mlir.range_checks import kernel_builder
from ingot.ops.control import Range
from ingot.ops.values import Ptr, Val, Value

I64 = torch.int64
MANY = 8
"""A loop that carries so many values hides the latency of each."""


class Writer:
    """Writes the body of a function over a frame of pointers and sizes."""

    def __init__(self) -> None:
        self.b = kernel_builder(1)
        self.pointer: dict[str, Ptr] = {}
        self.size: dict[str, Val] = {}

    def const(self, value: int) -> Val:
        return self.b.const(value, I64)

    def moved(self, pointer: Ptr, by: Val, dtype: torch.dtype) -> Ptr:
        return self.b.pointer_at(pointer, by, dtype)

    def read_frame(self, names: Sequence[str], pointers: Sequence[str], frame: Ptr = FRAME) -> None:
        """Loads the arguments in the frame into `pointer` and `size`, by name."""
        for position, name in enumerate(names):
            at = self.b.word_at(frame, position)
            if name in pointers:
                self.pointer[name] = self.b.load_pointer(at)
            else:
                self.size[name] = self.b.load_word(at)

    def either(self, condition: Val, x: Ptr, y: Ptr) -> Ptr:
        return self.b.choose(condition, x, y)

    def stack(self, count: int, dtype: torch.dtype) -> Ptr:
        return self.b.slot(dtype, count=count)

    def function(
        self,
        name: str,
        arguments: Sequence[Value] = (FRAME,),
        result: Val | None = None,
        attributes: str = "",
    ) -> str:
        return self.b.function(name, arguments, result, attributes)

    def loop(self, low: Val, high: Val, step: Val) -> AbstractContextManager[Val]:
        return self.b.loop(low, high, step)

    def when(self, condition: Val) -> AbstractContextManager[None]:
        return self.b.when(condition)

    def given(self, pointer: Ptr) -> Val:
        """Whether a pointer is not null."""
        return self.b.cmp("ne", self.b.as_number(pointer), self.const(0))

    def summed(
        self,
        extent: Range,
        start: Sequence[Val],
        step: Callable[[Val, Sequence[Val]], Sequence[Val]],
    ) -> list[Val]:
        """A loop (from, to, step) that carries `start`. With many sums it is not unrolled: LLVM
        would put the loads of several iterations in registers that the sums need."""
        return self.b.carrying(extent, start, step, unrolled=len(start) < MANY)

    @contextmanager
    def strips(self, tallest: int, count: Val) -> Iterator[tuple[Val, Val]]:
        """(height, first row) of tiles that cover `count` rows, as tall as possible; the last two
        share the remainder."""
        b, tall, zero, one = self.b, self.const(tallest), self.const(0), self.const(1)
        number = b.div(b.add(count, b.sub(tall, one)), tall)
        whole = b.maximum(b.sub(number, self.const(2)), zero)
        end = b.mul(whole, tall)
        rest = b.sub(count, end)
        first = b.select(b.cmp("gt", rest, tall), b.div(b.add(rest, one), self.const(2)), rest)
        with self.loop(zero, number, one) as strip:
            last, early = b.cmp("gt", strip, whole), b.cmp("lt", strip, whole)
            rows = b.select(early, tall, b.select(last, b.sub(rest, first), first))
            yield rows, b.select(last, b.add(end, first), b.mul(strip, tall))

    # -- threads -----------------------------------------------------------------------------------

    def team(self) -> tuple[Val, Val]:
        """(this thread's number, the number of threads)"""
        if not has_openmp():
            return self.const(0), self.const(1)
        return thread_number(self.b), thread_count(self.b)

    def share(self, count: Val, thread: Val, threads: Val) -> tuple[Val, Val]:
        """This thread's range as (begin, end)."""
        b = self.b
        following = b.add(thread, self.const(1))
        return b.div(b.mul(count, thread), threads), b.div(b.mul(count, following), threads)

    def in_parallel(self, useful: Val) -> None:
        """Calls @task with the frame, on as many threads as are useful and allowed."""
        b = self.b
        if not has_openmp():
            b.invoke("task", [FRAME])
            return
        threads = b.minimum(useful, most_threads(b))
        several = b.cmp("gt", threads, self.const(1))
        with self.when(several):
            start_threads(b, "task", FRAME, threads)
        with self.when(b.not_(several)):
            b.invoke("task", [FRAME])
