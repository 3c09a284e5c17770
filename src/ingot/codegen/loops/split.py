"""Reductions of few, long rows: each row is split into chunks that threads share, and the chunks'
results are combined in order. The split depends on sizes only, so the result does not depend on the
number of threads. Partial results lie in scratch memory as [accumulator][chunk][row].
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ingot.codegen.loops.reduce import Accumulators, combine, identity
from ingot.codegen.loops.rows import Phases, RowWriter, pairs
from ingot.fuse import index as ix
from ingot.fuse.expr import Reduce
from ingot.fuse.index import Index, Var
from ingot.fuse.loops import Nest
from ingot.ops.values import Ptr, Val

MOST_CHUNKS = 128
FEWER_CHUNKS = 32
"""If rows are reduced one below the other: each chunk leaves a whole row of partial results."""
SMALLEST_CHUNK = 8192
SCRATCH = Ptr("%scratch")
"""Memory for partial results, in the functions that use it."""
SLOT_BYTES = 8


class Cut:
    """The loop to split, and its chunks."""

    def __init__(self, nest: Nest, lanes: int):
        self.nest = nest
        self.var: Var = max(
            nest.inner, key=lambda v: v.size if isinstance(v.size, int) else 1 << 60
        )
        self.unit = lanes if self.var is nest.vector else 1
        self.most = MOST_CHUNKS if nest.vector in nest.inner else FEWER_CHUNKS
        self.rows = ix.product([v.size for v in nest.outer])
        assert isinstance(self.rows, int)
        phases = Phases(nest)
        assert phases.count == 1, "a split region has one pass"
        self.groups = pairs(phases.reductions[0])
        self.stores = phases.stores[0]
        self.row_stores = phases.row_stores
        self.parts = [len(group_identity(g[0])) for g in self.groups]

    def chunks(self) -> int:
        """The largest number of chunks."""
        size = self.var.size
        if not isinstance(size, int):
            return self.most
        return -(-size // self._static_length(size))

    def _static_length(self, size: int) -> int:
        others = [v.size for v in self.nest.inner if v is not self.var]
        if self.nest.vector is not None and self.nest.vector in self.nest.outer:
            others.append(self.nest.vector.size)
        beside = count if isinstance(count := ix.product(others), int) else 1
        length = max(-(-size // self.most), -(-SMALLEST_CHUNK // max(1, beside)), 1)
        return -(-length // self.unit) * self.unit

    def length(self, writer: RowWriter) -> Val:
        """Steps of the split loop in one chunk."""
        size = self.var.size
        if isinstance(size, int):
            return writer.const(self._static_length(size))
        per = self.most * self.unit
        blocks = writer.b.div(
            writer.b.add(writer.size(size), writer.const(per - 1)), writer.const(per)
        )
        return writer.b.mul(blocks, writer.const(self.unit))

    def scratch_bytes(self) -> int:
        assert isinstance(self.rows, int)
        return SLOT_BYTES * sum(self.parts) * self.chunks() * self.rows

    def slot(self, number: int, chunk: Val, row: Index, writer: RowWriter, vector: bool) -> Ptr:
        """Address of an accumulator's partial result."""
        assert isinstance(self.rows, int)
        rows = writer.const(self.rows)
        base = writer.b.mul(writer.b.add(chunk, writer.const(number * self.chunks())), rows)
        offset = writer.b.add(base, writer.index(row, first_lane=vector))
        return writer.b.pointer_at(SCRATCH, offset, torch.int64)

    def row(self) -> Index:
        total = ix.ZERO
        for var in self.nest.outer:
            total = total * var.size + ix.of(var)
        return total


def group_identity(reduce: Reduce) -> tuple[torch.dtype, ...]:
    """Dtypes of a reduction's accumulators."""
    if reduce.kind.startswith("arg"):
        return reduce.operand.dtype, torch.int64
    return (reduce.operand.dtype,) * (2 if reduce.kind == "spread" else 1)


def write_chunk(writer: RowWriter, cut: Cut, chunk: Val) -> None:
    """Reduces one chunk of one row (or of a vector of rows) and stores the accumulators in scratch
    memory."""
    with within(writer, cut, chunk):
        writer.phase([r for g in cut.groups for r in g], cut.stores)
    leave(writer, cut, chunk)


@contextmanager
def within(writer: RowWriter, cut: Cut, chunk: Val) -> Iterator[None]:
    """Limits the split loop to one chunk."""
    length = cut.length(writer)
    low = writer.b.mul(chunk, length)
    high = writer.b.minimum(writer.b.add(low, length), writer.size(cut.var.size))
    writer.limits[cut.var] = (low, high)
    yield
    del writer.limits[cut.var]


def leave(writer: RowWriter, cut: Cut, chunk: Val) -> None:
    """Stores the accumulators of a chunk in scratch memory."""
    number = 0
    for group in cut.groups:
        for value in writer.finished[group[0]]:
            _put(writer, cut, number, chunk, value)
            number += 1


def _put(writer: RowWriter, cut: Cut, number: int, chunk: Val, value: Val) -> None:
    """Each partial result takes eight bytes; a vector of rows is stored lane by lane."""
    along = value.lanes > 1
    address = cut.slot(number, chunk, cut.row(), writer, along)
    wide = _as_eight_bytes(writer, value)
    if not along:
        writer.b.store(address, wide)
        return
    writer.b.store(address, wide, writer.tail)


def _as_eight_bytes(writer: RowWriter, value: Val) -> Val:
    b = writer.b
    if value.dtype in (torch.float32, torch.bfloat16, torch.float16):
        value = b.cast(Val(value.name, torch.float32, value.lanes), torch.float64)
    if value.dtype is torch.float64:
        return b.bitcast(value, torch.int64)
    return b.cast(value, torch.int64)


def _from_eight_bytes(writer: RowWriter, value: Val, dtype: torch.dtype) -> Val:
    b = writer.b
    if dtype.is_floating_point:
        return b.cast(b.bitcast(value, torch.float64), dtype)
    return b.cast(value, dtype)


def write_finish(writer: RowWriter, cut: Cut) -> None:
    """Combines the chunks of every row in order and stores the results of the rows. `writer` has
    one lane if the vector runs along a reduced loop."""

    def body() -> None:
        number = 0
        for group in cut.groups:
            total = _combined(writer, cut, group[0], number)
            writer.finish_with(group, total)
            number += len(total)
        writer.store_all(cut.row_stores)

    roots = [s.value for s in cut.row_stores]
    writer.over_all(cut.nest.outer, roots, body)


def _combined(writer: RowWriter, cut: Cut, reduce: Reduce, number: int) -> Accumulators:
    dtypes, lanes = group_identity(reduce), writer.lanes
    slots = [(writer.slot(dtype, lanes), dtype) for dtype in dtypes]
    initial = identity(writer.b, reduce.kind, reduce.operand.dtype, lanes)
    for (slot, _), value in zip(slots, initial, strict=True):
        writer.put(slot, value)
    chunk = Var("chunk", 0)

    def body() -> None:
        at = writer.at[chunk]
        part = []
        for k, dtype in enumerate(dtypes):
            address = cut.slot(number + k, at, cut.row(), writer, lanes > 1)
            bits = writer.b.load(address, torch.int64, lanes, writer.tail)
            part.append(_from_eight_bytes(writer, bits, dtype))
        current = tuple(writer.get(slot, dtype, lanes) for slot, dtype in slots)
        for (slot, _), value in zip(
            slots, combine(writer.b, reduce.kind, current, tuple(part)), strict=True
        ):
            writer.put(slot, value)

    writer.loop(chunk, writer.const(0), used_chunks(writer, cut), body)
    return tuple(writer.get(slot, dtype, lanes) for slot, dtype in slots)


def used_chunks(writer: RowWriter, cut: Cut) -> Val:
    """The number of chunks that are not empty."""
    if isinstance(cut.var.size, int):
        return writer.const(cut.chunks())
    length = cut.length(writer)
    size = writer.size(cut.var.size)
    up = writer.b.sub(writer.b.add(size, length), writer.const(1))
    return writer.b.div(up, writer.b.maximum(length, writer.const(1)))
