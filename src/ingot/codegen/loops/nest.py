"""Writes the values of a kernel as MLIR: the loads, ops and stores in its loops, which are in
looping.py. Values that do not depend on a loop are written before it. A tail is masked, never
over-read. rows.py reduces, scans and stores rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import sympy
import torch
from torch import fx

from ingot.codegen.loops.loop_sizes import I64
from ingot.codegen.loops.looping import LoopWriter
from ingot.fuse import index as ix
from ingot.fuse.expr import (
    Apply,
    Checked,
    Expr,
    FromIndex,
    Guarded,
    Load,
    Number,
    Reduce,
    ordered,
)
from ingot.fuse.index import Index, Var
from ingot.fuse.loops import Nest, Store
from ingot.machine import this_machine
from ingot.ops.rules import apply_rule
from ingot.ops.values import Ptr, Val
from ingot.program.shapes import shape_of

ROWS_AHEAD = 4
"""Rows between a prefetch and its use, if rows are read one below the other."""
TABLE = 16384
"""Bytes of a row to gather from that stays in the L1 cache."""


def _without(index: Index, atom: ix.Atom) -> Index:
    return index - ix.of(atom) * index.terms[atom]


class NestWriter(LoopWriter):
    """Writes one body. Buffers and symbols are SSA names that the caller loads at the function's
    top."""

    def __init__(
        self, nest: Nest, lanes: int, buffers: dict[fx.Node, Ptr], symbols: dict[sympy.Symbol, Val]
    ):
        super().__init__(nest, lanes, symbols)
        self.buffers = buffers
        self.kept_ready: set[Expr] = set()
        """Values in memory: nothing below them is computed again."""
        self.guard: Val | None = None
        self.failed: dict[int, Ptr] = {}
        self.past_cache: frozenset[fx.Node] = frozenset()
        """Buffers that are stored past the cache."""
        self.side_by_side = False
        """Whether several rows are read at a time: the hardware prefetches along each."""
        self._nowhere: Ptr | None = None

    # -- values ------------------------------------------------------------------------------------

    def hoist(self, roots: Iterable[Expr]) -> None:
        """Writes values that do not depend on loops still to be opened and are certain to be
        evaluated."""
        done = self.kept_ready
        for expr in ordered(roots, stop=lambda e: isinstance(e, Guarded | Reduce) or e in done):
            if isinstance(expr, Number | Guarded | Reduce) or expr.variables() - self.at.keys():
                continue
            if self._ready(expr):
                self.value(expr)

    def _ready(self, expr: Expr) -> bool:
        """Whether the reductions below it are done."""
        return all(not isinstance(e, Reduce) or self._known(e) is not None for e in ordered([expr]))

    def _known(self, expr: Expr) -> Val | None:
        return next((scope[expr] for scope in reversed(self.memo) if expr in scope), None)

    def value(self, expr: Expr) -> Val:
        known = self._known(expr)
        if known is None:
            known = self._write(expr)
            self.memo[-1][expr] = known
        return known

    def _write(self, expr: Expr) -> Val:
        if isinstance(expr, Load):
            return self._load(expr)
        if isinstance(expr, Number):
            return self.b.const(expr.value, expr.dtype)
        if isinstance(expr, FromIndex):
            return self.index(expr.index)
        if isinstance(expr, Apply):
            return self._apply(expr)
        if isinstance(expr, Guarded):
            return self._guarded(expr)
        assert isinstance(expr, Checked), f"{expr} must be written before it is used"
        return self._checked(expr)

    def _apply(self, expr: Apply) -> Val:
        operands = [self.value(o) if isinstance(o, Expr) else o for o in expr.operands]
        result = apply_rule(
            self.b,
            expr.target,
            dict(zip(expr.names, operands, strict=True)),
            expr.compute,
            expr.dtype,
        )
        for condition, code in self.b.failures:
            self._fail(condition, code)
        self.b.failures.clear()
        return result

    def _load(self, expr: Load) -> Val:
        base = self.buffers[expr.buffer]
        lanes = self._lanes_of(expr.index)
        filled = self._filled(expr.index)
        if lanes == 1:
            counts = filled
            if self.guard is not None:
                inside = self.b.any(self.guard)
                counts = inside if filled is None else self.b.and_(inside, filled)
            pointer = self.b.pointer_at(base, self.index(expr.index), expr.dtype)
            return self.b.load(self._safe(pointer, counts), expr.dtype, 1)
        mask = self._mask()
        if self.is_contiguous(expr.index):
            pointer = self.b.pointer_at(base, self.index(expr.index, first_lane=True), expr.dtype)
            if mask is None:
                self._fetch_below(expr, pointer)
            return self.b.load(self._safe(pointer, filled), expr.dtype, lanes, mask)
        self._fetch_next_table(expr)
        if filled is not None:
            every = self.b.broadcast(filled, lanes)
            mask = every if mask is None else self.b.and_(mask, every)
        whole = (
            self.tail is None and filled is None and (self.guard is None or self.guard.lanes == 1)
        )
        if whole and (addresses := self._addresses(base, expr.index, expr.dtype)):
            safe = [self._safe(address, self.guard) for address in addresses]
            return self.b.collect(safe, expr.dtype, self.lanes)
        if mask is None and (gathered := self._single_gather(expr.index)):
            return self._one_by_one(expr, gathered)
        return self.b.gather(base, self.index(expr.index), expr.dtype, mask)

    def _single_gather(self, index: Index) -> ix.Gathered | None:
        """The gather that alone varies along the vector, if its indices are contiguous in
        memory."""
        found = [atom for atom in index.terms if isinstance(atom, ix.Gathered)]
        if len(found) != 1 or self.nest.vector in _without(index, found[0]).variables():
            return None
        read = found[0].value.value
        if not isinstance(read, Load) or read.dtype not in (I64, torch.int32):
            return None
        beside = self.is_contiguous(read.index) and not read.index.has_gathered()
        return found[0] if beside else None

    def _one_by_one(self, expr: Load, gathered: ix.Gathered) -> Val:
        """If every index is in range, loads each index and then its element, which is faster than a
        gather instruction. Otherwise gathers."""
        b, read = self.b, gathered.value.value
        places, size = b.cast(self.value(read), I64), self.size(gathered.size)
        below = b.cmp("lt", places, self.const(0))
        outside = b.any(b.or_(below, b.cmp("ge", places, size)))
        table = self.buffers[expr.buffer]
        start = b.pointer_at(table, self.index(_without(expr.index, gathered)), expr.dtype)
        at = self.index(read.index, first_lane=True)
        first = b.pointer_at(self.buffers[read.buffer], at, read.dtype)

        def address(k: int) -> Ptr:
            pointer = b.pointer_at(first, self.const(k), read.dtype)
            place = b.cast(b.load_again(pointer, read.dtype), I64)
            return b.pointer_at(
                start, b.mul(place, self.size(expr.index.terms[gathered])), expr.dtype
            )

        def by_gather() -> Val:
            self.memo.append({})
            value = b.gather(table, self.index(expr.index), expr.dtype)
            self.memo.pop()
            return value

        def one_by_one() -> Val:
            return b.collect((address(k) for k in b.places(self.lanes)), expr.dtype, self.lanes)

        return b.branch(outside, by_gather, one_by_one)

    def _addresses(self, base: Ptr, index: Index, dtype: torch.dtype) -> list[Ptr]:
        """The addresses of all lanes if their stride is constant, otherwise none."""
        assert self.nest.vector is not None
        step = index.coefficient(self.nest.vector)
        if not isinstance(step, int):
            return []
        first = self.b.pointer_at(base, self.index(index, first_lane=True), dtype)
        places = self.b.places(self.lanes)
        return [self.b.pointer_at(first, self.const(k * step), dtype) for k in places]

    def _filled(self, index: Index) -> Val | None:
        """Whether all gathered dimensions are non-empty; None if that is certain. Index 0, which
        replaces an invalid one, is itself invalid in an empty dimension."""
        sizes = {
            gathered.size for gathered in index.gathered() if not isinstance(gathered.size, int)
        }
        if not sizes:
            return None
        zero = self.const(0)
        each = [self.b.cmp("gt", self.size(size), zero) for size in sorted(sizes, key=str)]
        return reduce(self.b.and_, each)

    def _safe(self, pointer: Ptr, condition: Val | None) -> Ptr:
        """The pointer, or one to stack memory if the condition does not hold."""
        if condition is None:
            return pointer
        if self._nowhere is None:
            self._nowhere = self.slot(I64, self.lanes)
        return self.b.choose(condition, pointer, self._nowhere)

    def _fetch_below(self, expr: Load, pointer: Ptr) -> None:
        """If rows are read one below the other, prefetches a piece of a later row: it lies on
        another page, which the hardware does not prefetch."""
        inner, vector = self.nest.inner, self.nest.vector
        if self.side_by_side or not inner or vector is None or vector in inner:
            return
        step = expr.index.coefficient(inner[-1])
        if isinstance(step, int) and step >= self.lanes and self.is_far(expr):
            below = self.b.pointer_at(pointer, self.const(ROWS_AHEAD * step), expr.dtype)
            self.b.fetch(below, self.lanes * expr.dtype.itemsize)

    def _fetch_next_table(self, expr: Load) -> None:
        """If each row of the result gathers from a row of its own, prefetches the same part of the
        next one: the hardware does not prefetch unordered reads."""
        gathered = [atom for atom in expr.index.terms if isinstance(atom, ix.Gathered)]
        vector = self.nest.vector
        rows = [v for v in self.nest.outer if v is not vector]
        if self._mask() is not None or len(gathered) != 1 or vector is None or not rows:
            return
        size, rest = gathered[0].size, expr.index - ix.of(gathered[0])
        step = rest.coefficient(rows[-1])
        table = self.is_far(expr) and isinstance(size, int) and size * expr.dtype.itemsize <= TABLE
        if table and isinstance(step, int) and step >= size > self.lanes:
            ahead = self.index(rest + ix.of(vector) + step, first_lane=True)
            start = self.b.pointer_at(self.buffers[expr.buffer], ahead, expr.dtype)
            self.b.fetch(start, self.lanes * expr.dtype.itemsize)

    def is_far(self, load: Load) -> bool:
        """Whether its buffer exceeds the L2 cache."""
        count = ix.product(shape_of(load.buffer))
        return not isinstance(count, int) or count * load.dtype.itemsize > this_machine().l2_bytes

    def store(self, store: Store) -> None:
        base = self.buffers[store.buffer]
        value = self.value(store.value)
        lanes = self._lanes_of(store.index)
        if lanes == 1:
            assert value.lanes == 1
            self.b.store(self.b.pointer_at(base, self.index(store.index), value.dtype), value)
            return
        value = self.b.broadcast(value, lanes)
        if self.is_contiguous(store.index):
            pointer = self.b.pointer_at(base, self.index(store.index, first_lane=True), value.dtype)
            mask = self._mask()
            if mask is None and store.buffer in self.past_cache:
                self.b.store_past_cache(pointer, value)
            else:
                self.b.store(pointer, value, mask)
            return
        mask = self._mask()
        if mask is None and (addresses := self._addresses(base, store.index, value.dtype)):
            self.b.spread(value, addresses)
        else:
            self.b.scatter(base, self.index(store.index), value, mask)

    def store_all(self, stores: Iterable[Store]) -> None:
        for store in stores:
            self.store(store)

    def _guarded(self, expr: Guarded) -> Val:
        settled = self._settled(expr)
        if settled is not None:
            return self.value(expr.inside if settled else expr.outside)
        at = self.index(expr.index)
        inside = self.b.and_(
            self.b.cmp("ge", at, self.size(expr.low)), self.b.cmp("lt", at, self.size(expr.high))
        )
        value = self._under(inside, expr.inside)
        return self.b.select(inside, value, self._under(self.b.not_(inside), expr.outside))

    def _under(self, condition: Val, expr: Expr) -> Val:
        """A value that counts only under `condition`. Elsewhere its loads have no valid address and
        are masked off, and its failures are ignored."""
        if isinstance(expr, Number):
            return self.value(expr)
        before = self.guard
        self.guard = condition if before is None else self.b.and_(before, condition)
        self.memo.append({})
        value = self.value(expr)
        self.memo.pop()
        self.guard = before
        return value

    def _settled(self, expr: Guarded) -> bool | None:
        """The guard's value if it is constant in the segment, otherwise None."""
        if len(expr.index.terms) != 1 or not isinstance(expr.index.const, int):
            return None
        ((atom, c),) = expr.index.terms.items()
        low, high = self.range.get(atom, (None, None))  # type: ignore[arg-type]
        if c != 1 or not all(isinstance(v, int) for v in (low, high, expr.low, expr.high)):
            return None
        first, last = low + expr.index.const, high - 1 + expr.index.const
        if expr.low <= first and last < expr.high:
            return True
        if last < expr.low or first >= expr.high:
            return False
        return None

    def _checked(self, expr: Checked) -> Val:
        value = self.b.cast(self.value(expr.value), I64)
        size = self.size(expr.size)
        zero = self.const(0)
        if expr.wraps:
            value = self.b.select(self.b.cmp("lt", value, zero), self.b.add(value, size), value)
        bad = self.b.or_(self.b.cmp("lt", value, zero), self.b.cmp("ge", value, size))
        self._fail(bad, expr.failure)
        return self.b.select(bad, zero, value)

    def _fail(self, condition: Val, code: int) -> None:
        """Records that an active lane met `condition`."""
        for mask in (self.tail if condition.lanes > 1 else None, self.guard):
            if mask is not None:
                condition = self.b.and_(*self.b.same_lanes(condition, mask))
        if code not in self.failed:
            self.failed[code] = self.slot(torch.int32, 1)
        slot = self.failed[code]
        seen = self.get(slot, torch.int32, 1)
        now = self.b.cast(self.b.any(condition), torch.int32)
        self.put(slot, self.b.or_(seen, now))

    def _mask(self) -> Val | None:
        masks = [m for m in (self.tail, self.guard) if m is not None]
        if not masks:
            return None
        mask = masks[0] if len(masks) == 1 else self.b.and_(*self.b.same_lanes(*masks))
        return self.b.broadcast(mask, self.lanes)

    # -- indexes -----------------------------------------------------------------------------------

    def _lanes_of(self, index: Index) -> int:
        return self.lanes if self.nest.vector in index.variables() else 1

    def is_contiguous(self, index: Index) -> bool:
        assert self.nest.vector is not None
        return index.coefficient(self.nest.vector) == 1

    def index(self, index: Index, first_lane: bool = False) -> Val:
        """The value of an index; along the vector one per lane, or that of the first lane only."""
        total: Val | None = None
        for atom, c in index.terms.items():
            part = self._atom(atom, first_lane)
            if c != 1:
                part = self.b.mul(part, self.size(c))
            total = part if total is None else self.b.add(total, part)
        if total is None:
            return self.size(index.const)
        return total if index.const == 0 else self.b.add(total, self.size(index.const))

    def _atom(self, atom: ix.Atom, first_lane: bool) -> Val:
        if isinstance(atom, Var):
            value = self.at[atom]
            if atom is self.nest.vector and not first_lane and self.lanes > 1:
                return self.b.add(value, self.b.iota(self.lanes))
            return value
        if isinstance(atom, ix.Gathered):
            return self.value(atom.value)
        inner = self.index(atom.index, first_lane)
        by = self.size(atom.by)
        # The index of an active lane is never negative, so truncation is the floor.
        return self.b.div(inner, by) if isinstance(atom, ix.Div) else self.b.rem(inner, by)
