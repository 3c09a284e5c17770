"""The functions around a loop nest: the entry, a task for the threads, the body. All three read one
frame, which the caller allocates: buffers, symbols, an error code and scratch memory. The number of
threads follows the work and never exceeds `torch.set_num_threads`. Without OpenMP everything runs
on the caller's thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy
import torch

from ingot.codegen.builder import FENCE
from ingot.codegen.columns import Columns
from ingot.codegen.jit import FUNCTION_ATTRIBUTES
from ingot.codegen.row_prefetch import prefetch_rows
from ingot.codegen.rows import Phases, RowWriter
from ingot.codegen.split import Cut, leave, used_chunks, within, write_chunk
from ingot.codegen.transpose_tile import Tiles
from ingot.fuse import index as ix
from ingot.fuse.expr import Expr
from ingot.fuse.index import Var
from ingot.fuse.loops import Nest
from ingot.linkage import has_symbol
from ingot.ops.values import Val

WORK_PER_THREAD = 65536
"""Instructions, roughly, that are worth waking a thread for."""
VECTOR_BLOCK = 2048
"""Elements of the vector loop in one parallel unit if there are few outer iterations."""
MANY_ROWS = 64
MANY_UNITS = 96
"""Enough units to keep any number of threads of one machine about equally busy."""


class Units:
    """Divides a nest into units that threads share, and writes the body that runs a range of
    them."""

    def __init__(self, nest: Nest, writer: RowWriter, columns: Columns | None = None):
        self.nest = nest
        self.writer = writer
        self.columns = columns
        self.cut = Cut(nest, writer.lanes) if nest.split and Phases(nest).count == 1 else None
        along = nest.vector is not None and nest.vector in nest.outer
        self.along: Var | None = nest.vector if along else None
        self.lead = nest.outer[:-1] if along else nest.outer
        self.tiles = Tiles(nest, writer) if nest.across is not None and writer.lanes > 1 else None
        if self.tiles is not None:
            self.lead = tuple(v for v in self.lead if v is not nest.across)
        self.lead, self.rest = self._shared(self.lead)
        rows = ix.product([v.size for v in self.lead])
        few = isinstance(rows, int) and rows < MANY_ROWS and self.cut is None and self.tiles is None
        # A thread takes its share of the columns as one strip.
        self.block = VECTOR_BLOCK if columns is None else writer.lanes
        self.blocked = (
            self.along is not None and few and (not self.lead or _longer(self.along, VECTOR_BLOCK))
        )

    def _shared(self, lead: tuple[Var, ...]) -> tuple[tuple[Var, ...], tuple[Var, ...]]:
        """The outer loops whose iterations are units, and those that run inside every unit."""
        if self.cut is not None:
            return lead, ()
        rows = 1
        for k, var in enumerate(lead):
            if not isinstance(var.size, int):
                break
            rows *= var.size
            if rows >= MANY_UNITS:
                return lead[: k + 1], lead[k + 1 :]
        return lead, ()

    def count(self, writer: RowWriter) -> Val:
        rows = writer.size(ix.product([v.size for v in self.lead]))
        if self.cut is not None:
            return writer.b.mul(rows, used_chunks(writer, self.cut))
        if self.tiles is not None:
            return writer.b.mul(rows, writer.const(self.tiles.count()))
        return writer.b.mul(rows, self._blocks()) if self.blocked else rows

    def _blocks(self) -> Val:
        assert self.along is not None
        w = self.writer
        return w.b.div(
            w.b.add(w.size(self.along.size), w.const(self.block - 1)), w.const(self.block)
        )

    def write_body(self) -> None:
        w = self.writer
        roots = [s.value for s in self.nest.stores]
        begin, end = Val("%begin", torch.int64), Val("%end", torch.int64)
        if self.blocked and not self.lead:
            assert self.along is not None
            block = w.const(self.block)
            low = w.b.mul(begin, block)
            high = w.b.minimum(w.b.mul(end, block), w.size(self.along.size))
            self._row(roots, None, low, high)
            return
        unit = Var("unit", 0)
        w.loop(unit, begin, end, lambda: self._unit(unit, roots))

    def _unit(self, unit: Var, roots: list[Expr]) -> None:
        w = self.writer
        rest = w.at[unit]
        low = high = chunk = None
        if self.blocked:
            assert self.along is not None
            rest, part = self._divided(rest, self._blocks())
            block = w.const(self.block)
            low = w.b.mul(part, block)
            high = w.b.minimum(w.b.add(low, block), w.size(self.along.size))
        if self.cut is not None:
            rest, chunk = self._divided(rest, used_chunks(w, self.cut))
        if self.tiles is not None:
            rest, chunk = self._divided(rest, w.const(self.tiles.count()))
        for k, var in reversed(list(enumerate(self.lead))):
            if k:
                rest, w.at[var] = self._divided(rest, w.size(var.size))
            else:
                w.at[var] = rest
        w.hoist(roots)
        w.over_all(self.rest, roots, lambda: self._row(roots, chunk, low, high))
        for var in self.lead:
            del w.at[var]

    def _divided(self, value: Val, by: Val) -> tuple[Val, Val]:
        return self.writer.b.div(value, by), self.writer.b.rem(value, by)

    def _row(self, roots: list[Expr], chunk: Val | None, low: Val | None, high: Val | None) -> None:
        w = self.writer
        if self.tiles is not None:
            assert chunk is not None
            self.tiles.write(chunk)
            return
        if self.columns is not None:
            self._columns(self.columns, chunk, low, high)
            return

        def body() -> None:
            if self.cut is None:
                w.row()
            else:
                assert chunk is not None
                write_chunk(w, self.cut, chunk)

        rows = (*self.lead, *self.rest)
        if rows and self.cut is None and low is None:
            prefetch_rows(w, rows[-1])
        if self.along is not None:
            w.over(self.along, roots, body, low, high)
        else:
            body()

    def _columns(
        self, columns: Columns, chunk: Val | None, low: Val | None, high: Val | None
    ) -> None:
        w, cut = self.writer, self.cut
        if cut is None:
            columns.write(low, high, lambda: w.store_all(Phases(self.nest).row_stores))
            return
        assert chunk is not None
        with within(w, cut, chunk):
            columns.write(low, high, lambda: leave(w, cut, chunk))


def _longer(var: Var, size: int) -> bool:
    return not isinstance(var.size, int) or var.size > size


# -- text ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Frame:
    """The frame that a kernel's functions share: buffers, symbols, error code, scratch memory."""

    buffers: list[str]
    symbols: Mapping[sympy.Symbol, Val]

    def names(self) -> list[str]:
        return [*self.buffers, *(v.name for v in self.symbols.values())]

    def kind(self, position: int) -> str:
        return "!llvm.ptr" if position < len(self.buffers) else "i64"

    @property
    def error(self) -> int:
        return len(self.buffers) + len(self.symbols)

    @property
    def scratch(self) -> int:
        return self.error + 1

    def loads(self, scratch: bool) -> list[str]:
        """Lines at a function's top that read the frame."""
        lines = []
        for i, name in enumerate(self.names()):
            lines.append(
                f"    {name}at = llvm.getelementptr %frame[{i}] : (!llvm.ptr) -> !llvm.ptr, i64"
            )
            lines.append(f"    {name} = llvm.load {name}at : !llvm.ptr -> {self.kind(i)}")
        if scratch:
            lines.append(
                f"    %scratchat = llvm.getelementptr %frame[{self.scratch}] : "
                "(!llvm.ptr) -> !llvm.ptr, i64"
            )
            lines.append("    %scratch = llvm.load %scratchat : !llvm.ptr -> !llvm.ptr")
        return lines


def openmp_declarations() -> dict[str, str]:
    if not has_openmp():
        return {}
    return {
        "GOMP_parallel": "  llvm.func @GOMP_parallel(!llvm.ptr, !llvm.ptr, i32, i32)",
        "GOMP_barrier": "  llvm.func @GOMP_barrier()",
        "omp_get_thread_num": "  llvm.func @omp_get_thread_num() -> i32",
        "omp_get_num_threads": "  llvm.func @omp_get_num_threads() -> i32",
        "omp_get_max_threads": "  llvm.func @omp_get_max_threads() -> i32",
    }


def has_openmp() -> bool:
    return all(map(has_symbol, ("GOMP_parallel", "GOMP_barrier", "omp_get_max_threads")))


def assemble(
    frame: Frame, writer: RowWriter, units: Units, finish: RowWriter | None, grain: int
) -> str:
    """The text of all functions of a kernel, with @NAME for its name. `grain`: the elements that
    are worth a thread."""
    body = written(writer)
    writer.b.lines.clear()
    count = units.count(writer)
    work = writer.size(ix.product([v.size for v in (*units.nest.outer, *units.nest.inner)]))
    sizing = [*writer.b.constant_lines(), *writer.b.lines]
    # Sizing may have requested further symbols, so the frame's layout (positions of the error code
    # and the scratch memory) is final only now.
    more = ", %begin: i64, %end: i64"
    parts = [function_text("@NAME_body", more, frame, body, finish is not None)]
    if finish is not None:
        parts.append(function_text("@NAME_finish", "", frame, written(finish), True))
    if has_openmp():
        parts.append(_task(frame, sizing, count))
    scratch = units.cut.scratch_bytes() if units.cut is not None else 0
    parts.append(_entry(frame, sizing, count, work, grain, scratch))
    return "\n".join(parts)


@dataclass(frozen=True)
class Body:
    """Snapshot of a writer's output."""

    prologue: list[str]
    """Constants and allocations."""
    lines: list[str]
    failed: dict[int, str]
    """The stack slot of each kind of failure, by error code."""
    past_cache: bool
    """Whether it stores past the cache and needs a fence."""


def written(writer: RowWriter) -> Body:
    prologue = [*writer.b.constant_lines(), *writer.entry]
    return Body(prologue, writer.b.lines[:], dict(writer.failed), bool(writer.past_cache))


def function_text(name: str, more: str, frame: Frame, body: Body, scratch: bool) -> str:
    """A function around `body` that writes failures to the frame at its end."""
    start, end = [], []
    for code, slot in sorted(body.failed.items()):
        start += [
            f"    {slot}z = arith.constant 0 : i32",
            f"    llvm.store {slot}z, {slot} : i32, !llvm.ptr",
        ]
        end += [
            f"    {slot}v = llvm.load {slot} : !llvm.ptr -> i32",
            f"    {slot}c = arith.cmpi ne, {slot}v, {slot}z : i32",
            f"    scf.if {slot}c {{",
            f"      {slot}e = arith.constant {code} : i64",
            f"      {slot}p = llvm.getelementptr %frame[{frame.error}] : "
            "(!llvm.ptr) -> !llvm.ptr, i64",
            f"      llvm.store {slot}e, {slot}p : i64, !llvm.ptr",
            "    }",
        ]
    head = (
        f"  llvm.func internal {name}(%frame: !llvm.ptr{more}) "
        f"attributes {{{FUNCTION_ATTRIBUTES}}} {{"
    )
    return "\n".join(
        [
            head,
            *body.prologue,
            *frame.loads(scratch),
            *start,
            *body.lines,
            *([FENCE] if body.past_cache else []),
            *end,
            "    llvm.return",
            "  }",
        ]
    )


def _task(frame: Frame, sizing: list[str], count: Val) -> str:
    """The function of each thread: it runs its share of the units."""
    return "\n".join(
        [
            "  llvm.func internal @NAME_task(%frame: !llvm.ptr) {",
            *frame.loads(False)[2 * len(frame.buffers) :], *sizing,
            "    %thread32 = llvm.call @omp_get_thread_num() : () -> i32",
            "    %threads32 = llvm.call @omp_get_num_threads() : () -> i32",
            "    %thread = arith.extsi %thread32 : i32 to i64",
            "    %threads = arith.extsi %threads32 : i32 to i64",
            "    %one = arith.constant 1 : i64",
            f"    %rounded = arith.addi {count.name}, %threads : i64",
            "    %upper = arith.subi %rounded, %one : i64",
            "    %share = arith.divsi %upper, %threads : i64",
            "    %begin = arith.muli %thread, %share : i64",
            "    %stop = arith.addi %begin, %share : i64",
            f"    %end = arith.minsi %stop, {count.name} : i64",
            "    %some = arith.cmpi slt, %begin, %end : i64",
            "    scf.if %some {",
            "      llvm.call @NAME_body(%frame, %begin, %end) : (!llvm.ptr, i64, i64) -> ()",
            "    }",
            "    llvm.return", "  }",
        ]
    )  # fmt: skip


def _entry(frame: Frame, sizing: list[str], count: Val, work: Val, grain: int, scratch: int) -> str:
    lines = [
        "  llvm.func internal @NAME(%frame: !llvm.ptr) -> i64 "
        f"attributes {{{FUNCTION_ATTRIBUTES}}} {{",
        *frame.loads(False)[2 * len(frame.buffers) :],
        *sizing,
    ]
    if scratch:
        lines += [
            f"    %scratchsize = llvm.mlir.constant({scratch} : i64) : i64",
            "    %scratch = llvm.alloca %scratchsize x i8 {alignment = 64 : i64} : "
            "(i64) -> !llvm.ptr",
            f"    %scratchat = llvm.getelementptr %frame[{frame.scratch}] : "
            "(!llvm.ptr) -> !llvm.ptr, i64",
            "    llvm.store %scratch, %scratchat : !llvm.ptr, !llvm.ptr",
        ]
    lines += [
        "    %nothing = arith.constant 0 : i64",
        f"    %errorat = llvm.getelementptr %frame[{frame.error}] : (!llvm.ptr) -> !llvm.ptr, i64",
        "    llvm.store %nothing, %errorat : i64, !llvm.ptr",
        *_launch(count, work, grain),
    ]
    if scratch:
        lines.append("    llvm.call @NAME_finish(%frame) : (!llvm.ptr) -> ()")
    return "\n".join(
        [
            *lines,
            "    %error = llvm.load %errorat : !llvm.ptr -> i64",
            "    llvm.return %error : i64",
            "  }",
        ]
    )


def _launch(count: Val, work: Val, grain: int) -> list[str]:
    call = f"llvm.call @NAME_body(%frame, %nothing, {count.name}) : (!llvm.ptr, i64, i64) -> ()"
    if not has_openmp():
        return [f"    {call}"]
    return [
        "    %one = arith.constant 1 : i64",
        f"    %grain = arith.constant {grain} : i64",
        f"    %wanted = arith.divsi {work.name}, %grain : i64",
        f"    %useful = arith.minsi %wanted, {count.name} : i64",
        "    %several = arith.cmpi sgt, %useful, %one : i64",
        "    scf.if %several {",
        "      %most32 = llvm.call @omp_get_max_threads() : () -> i32",
        "      %most = arith.extsi %most32 : i32 to i64",
        "      %threads = arith.minsi %useful, %most : i64",
        "      %alone = arith.cmpi sle, %threads, %one : i64",
        "      scf.if %alone {",
        f"        {call}",
        "      } else {",
        "        %task = llvm.mlir.addressof @NAME_task : !llvm.ptr",
        "        %threads32 = arith.trunci %threads : i64 to i32",
        "        %flags = arith.constant 0 : i32",
        "        llvm.call @GOMP_parallel(%task, %frame, %threads32, %flags) : "
        "(!llvm.ptr, !llvm.ptr, i32, i32) -> ()",
        "      }",
        "    } else {",
        f"      {call}",
        "    }",
    ]
