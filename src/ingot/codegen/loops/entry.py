"""The functions around a loop nest: the entry, a task for the threads, the body. All three read one
frame, which the caller allocates: buffers, symbols, an error code and scratch memory. The number of
threads follows the work and never exceeds `torch.set_num_threads`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy
import torch

from ingot.codegen.jit.jit import FUNCTION_ATTRIBUTES
from ingot.codegen.loops.columns import Columns
from ingot.codegen.loops.row_prefetch import prefetch_rows
from ingot.codegen.loops.rows import Phases, RowWriter
from ingot.codegen.loops.split import SCRATCH, Cut, leave, used_chunks, within, write_chunk
from ingot.codegen.loops.transpose_tile import Tiles
from ingot.codegen.mlir.builder import Builder
from ingot.codegen.mlir.memory import FRAME
from ingot.codegen.mlir.openmp import (
    has_openmp,
    most_threads,
    start_threads,
    thread_count,
    thread_number,
)
from ingot.fuse import index as ix
from ingot.fuse.expr import Expr
from ingot.fuse.index import Var
from ingot.fuse.loops import Nest
from ingot.ops.values import Ptr, Val

WORK_PER_THREAD = 65536
"""Instructions, roughly, that are worth waking a thread for."""
VECTOR_BLOCK = 2048
"""Elements of the vector loop in one parallel unit if there are few outer iterations."""
MANY_ROWS = 64
MANY_UNITS = 96
"""Enough units to keep any number of threads of one machine about equally busy."""
BEGIN, END = Val("%begin", torch.int64), Val("%end", torch.int64)
"""The range of units of one call of a body."""


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
        if self.blocked and not self.lead:
            assert self.along is not None
            block = w.const(self.block)
            low = w.b.mul(BEGIN, block)
            high = w.b.minimum(w.b.mul(END, block), w.size(self.along.size))
            self._row(roots, None, low, high)
            return
        unit = Var("unit", 0)
        w.loop(unit, BEGIN, END, lambda: self._unit(unit, roots))

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

    buffers: list[Ptr]
    symbols: Mapping[sympy.Symbol, Val]

    @property
    def error(self) -> int:
        return len(self.buffers) + len(self.symbols)

    @property
    def scratch(self) -> int:
        return self.error + 1

    def read(self, b: Builder, scratch: bool) -> None:
        """Loads buffers, symbols and, if there is any, the address of scratch memory."""
        for position, buffer in enumerate(self.buffers):
            b.define(buffer, b.word_at(FRAME, position))
        self.read_symbols(b)
        if scratch:
            b.define(SCRATCH, b.word_at(FRAME, self.scratch))

    def read_symbols(self, b: Builder) -> None:
        for position, symbol in enumerate(self.symbols.values(), len(self.buffers)):
            b.define(symbol, b.word_at(FRAME, position))


@dataclass(frozen=True)
class _Sizing:
    """Lines that compute the number of units and the work of a kernel."""

    b: Builder
    frame: Frame
    lines: list[str]
    count: Val
    work: Val

    def function(self) -> Builder:
        """The writer of a function that begins with them."""
        b = self.b.fork()
        self.frame.read_symbols(b)
        b.lines += self.lines
        return b


def assemble(
    frame: Frame, writer: RowWriter, units: Units, finish: RowWriter | None, grain: int
) -> str:
    """The text of all functions of a kernel, with @NAME for its name. `grain`: the elements that
    are worth a thread."""
    with writer.b.apart() as lines:
        count = units.count(writer)
        work = writer.size(ix.product([v.size for v in (*units.nest.outer, *units.nest.inner)]))
    # Sizing may have requested further symbols, so the frame's layout (positions of the error code
    # and the scratch memory) is final only now.
    sizing = _Sizing(writer.b, frame, lines, count, work)
    parts = [body_text("NAME_body", [BEGIN, END], frame, writer, finish is not None)]
    if finish is not None:
        parts.append(body_text("NAME_finish", [], frame, finish, True))
    if has_openmp():
        parts.append(_task(sizing))
    scratch = units.cut.scratch_bytes() if units.cut is not None else 0
    parts.append(_entry(sizing, grain, scratch))
    return "\n".join(parts)


def body_text(
    name: str, more: Sequence[Val], frame: Frame, writer: RowWriter, scratch: bool
) -> str:
    """The function of a body, with arguments after the frame. It writes failures to the frame at
    its end."""
    b, failed = writer.b, sorted(writer.failed.items())
    none = b.const(0, torch.int32)
    with b.apart() as start:
        frame.read(b, scratch)
        for _, slot in failed:
            b.store_register(slot, none)
    b.lines[:0] = start
    if writer.past_cache:
        b.store_fence()
    for code, slot in failed:
        with b.when(b.cmp("ne", b.load_register(slot, torch.int32), none)):
            b.store_register(b.word_at(FRAME, frame.error), writer.const(code))
    return b.function(name, [FRAME, *more], attributes=FUNCTION_ATTRIBUTES)


def _task(sizing: _Sizing) -> str:
    """The function of each thread: it runs its share of the units."""
    b, count = sizing.function(), sizing.count
    thread, threads = thread_number(b), thread_count(b)
    share = b.div(b.sub(b.add(count, threads), b.const(1, torch.int64)), threads)
    begin = b.mul(thread, share)
    end = b.minimum(b.add(begin, share), count)
    with b.when(b.cmp("lt", begin, end)):
        b.invoke("NAME_body", [FRAME, begin, end])
    return b.function("NAME_task", [FRAME])


def _entry(sizing: _Sizing, grain: int, scratch: int) -> str:
    b, frame = sizing.function(), sizing.frame
    if scratch:
        b.store_register(b.word_at(FRAME, frame.scratch), b.stack(scratch, "i8"))
    error = b.word_at(FRAME, frame.error)
    b.store_register(error, b.const(0, torch.int64))
    _launch(b, sizing, grain)
    if scratch:
        b.invoke("NAME_finish", [FRAME])
    return b.function("NAME", [FRAME], b.load_word(error), FUNCTION_ATTRIBUTES)


def _launch(b: Builder, sizing: _Sizing, grain: int) -> None:
    """Runs the body on as many threads as are useful and allowed."""
    zero, one = b.const(0, torch.int64), b.const(1, torch.int64)

    def alone() -> None:
        b.invoke("NAME_body", [FRAME, zero, sizing.count])

    def together() -> None:
        threads = b.minimum(useful, most_threads(b))
        b.either(
            b.cmp("le", threads, one),
            alone,
            lambda: start_threads(b, "NAME_task", FRAME, threads),
        )

    if not has_openmp():
        alone()
        return
    useful = b.minimum(b.div(sizing.work, b.const(grain, torch.int64)), sizing.count)
    b.either(b.cmp("gt", useful, one), together, alone)
