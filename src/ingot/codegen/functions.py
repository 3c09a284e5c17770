"""Writes functions that are not loop nests, such as matmuls and attention, line by line as an
`llvm.func`. A function reads its sizes and pointers from the frame that the executor fills. The
threads of a team share work by thread number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

from ingot.codegen.builder import Builder
from ingot.codegen.entry import has_openmp
from ingot.ops.values import Val

I64 = torch.int64
MANY = 8
"""A loop that carries so many values hides the latency of each."""
AS_IT_IS = " {loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}"
"""Not unrolled: LLVM would put the loads of several iterations in registers that sums need."""


class Writer:
    """Writes the body of a function over a frame of pointers and sizes."""

    def __init__(self) -> None:
        self.b = Builder(1)
        self.slots = 0
        self.pointer: dict[str, str] = {}
        self.size: dict[str, Val] = {}

    def const(self, value: int) -> Val:
        return self.b.const(value, I64)

    def moved(self, pointer: str, by: Val, dtype: torch.dtype) -> str:
        return self.b.pointer_at(pointer, by, dtype)

    @contextmanager
    def loop(self, low: Val, high: Val, step: Val) -> Iterator[Val]:
        name = self.b.fresh()
        self.b.line(f"scf.for {name} = {low.name} to {high.name} step {step.name} : i64 {{")
        with self.b.indented():
            yield Val(name, I64)
        self.b.line("}")

    @contextmanager
    def when(self, condition: Val) -> Iterator[None]:
        self.b.line(f"scf.if {condition.name} {{")
        with self.b.indented():
            yield
        self.b.line("}")

    def either(self, condition: Val, x: str, y: str) -> str:
        name = self.b.fresh()
        self.b.line(f"{name} = arith.select {condition.name}, {x}, {y} : !llvm.ptr")
        return name

    def stack(self, count: int, dtype: torch.dtype) -> str:
        self.slots += 1
        name, kind = f"%slot{self.slots}", Val("", dtype).type
        self.b.line(f"{name}n = llvm.mlir.constant({count} : i64) : i64")
        self.b.line(
            f"{name} = llvm.alloca {name}n x {kind} {{alignment = 64 : i64}} : (i64) -> !llvm.ptr"
        )
        return name

    def read_frame(
        self, names: Sequence[str], pointers: Sequence[str], frame: str = "%frame"
    ) -> None:
        """Loads the arguments in the frame into `pointer` and `size`, by name."""
        for position, name in enumerate(names):
            at, value = self.b.fresh(), self.b.fresh()
            self.b.line(
                f"{at} = llvm.getelementptr {frame}[{position}] : (!llvm.ptr) -> !llvm.ptr, i64"
            )
            kind = "!llvm.ptr" if name in pointers else "i64"
            self.b.line(f"{value} = llvm.load {at} : !llvm.ptr -> {kind}")
            if name in pointers:
                self.pointer[name] = value
            else:
                self.size[name] = Val(value, I64)

    def function(self, head: str, result: str = "") -> str:
        lines = [*self.b.constant_lines(), *self.b.lines]
        return "\n".join(
            [f"  llvm.func internal {head} {{", *lines, f"    llvm.return{result}", "  }"]
        )

    def given(self, pointer: str) -> Val:
        """Whether a pointer is not null."""
        address = self.b.fresh()
        self.b.line(f"{address} = llvm.ptrtoint {pointer} : !llvm.ptr to i64")
        return self.b.cmp("ne", Val(address, I64), self.const(0))

    def summed(
        self,
        extent: tuple[Val, Val, Val],
        start: Sequence[Val],
        step: Callable[[Val, Sequence[Val]], list[Val]],
    ) -> list[Val]:
        """A loop (from, to, step) that carries `start`."""
        b = self.b
        names = [b.fresh() for _ in start]
        result, at = b.fresh(), b.fresh()
        carried = ", ".join(f"{n} = {v.name}" for n, v in zip(names, start, strict=True))
        kinds = ", ".join(v.type for v in start)
        low, high, by = extent
        b.line(
            f"{result}:{len(start)} = scf.for {at} = {low.name} to {high.name} step {by.name} "
            f"iter_args({carried}) -> ({kinds}) : i64 {{"
        )
        with b.indented():
            inside = [Val(n, v.dtype, v.lanes) for n, v in zip(names, start, strict=True)]
            sums = step(Val(at, I64), inside)
            b.line(f"scf.yield {', '.join(v.name for v in sums)} : {kinds}")
        b.line(f"}}{AS_IT_IS if len(start) >= MANY else ''}")
        return [Val(f"{result}#{i}", v.dtype, v.lanes) for i, v in enumerate(start)]

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
        thread, threads = (
            self._asked(name) for name in ("omp_get_thread_num", "omp_get_num_threads")
        )
        return thread, threads

    def _asked(self, name: str) -> Val:
        narrow = self.b.fresh()
        self.b.line(f"{narrow} = llvm.call @{name}() : () -> i32")
        return self.b.cast(Val(narrow, torch.int32), I64)

    def share(self, count: Val, thread: Val, threads: Val) -> tuple[Val, Val]:
        """This thread's range as (begin, end)."""
        b = self.b
        following = b.add(thread, self.const(1))
        return b.div(b.mul(count, thread), threads), b.div(b.mul(count, following), threads)

    def in_parallel(self, useful: Val) -> None:
        """Calls @task with the frame, on as many threads as are useful and allowed."""
        b = self.b
        alone = "llvm.call @task(%frame) : (!llvm.ptr) -> ()"
        if not has_openmp():
            b.line(alone)
            return
        threads = b.minimum(useful, self._asked("omp_get_max_threads"))
        several = b.cmp("gt", threads, self.const(1))
        with self.when(several):
            count = b.cast(threads, torch.int32)
            flags = b.const(0, torch.int32)
            b.line("%task = llvm.mlir.addressof @task : !llvm.ptr")
            b.line(
                f"llvm.call @GOMP_parallel(%task, %frame, {count.name}, {flags.name}) : "
                "(!llvm.ptr, !llvm.ptr, i32, i32) -> ()"
            )
        with self.when(b.not_(several)):
            b.line(alone)
