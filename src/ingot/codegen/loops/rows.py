"""Writes the reductions, scans and stores of a row, below the outer loops. Reductions run in
phases, each over the whole row, so that a row stays in cache between them. An expensive value that
several phases need is kept; others are recomputed.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

import sympy
import torch
from torch import fx

from ingot.codegen.loops.loop_sizes import I64
from ingot.codegen.loops.looping import Body, cuts_of
from ingot.codegen.loops.nest import NestWriter
from ingot.codegen.loops.positions import goes_by_blocks, write_positions
from ingot.codegen.loops.reduce import (
    ADDED,
    Accumulators,
    across_lanes,
    advance,
    combine,
    corrected,
    identity,
    is_positional,
    prefix,
)
from ingot.codegen.loops.variance import in_narrow, spreads_of, write_spreads, write_widened
from ingot.fuse import index as ix
from ingot.fuse.expr import Apply, Expr, Guarded, Load, Reduce, Scan, all_children, ordered
from ingot.fuse.index import Index, Var
from ingot.fuse.loops import Nest, Store
from ingot.machine import this_machine
from ingot.ops.dtypes import is_float
from ingot.ops.rules import instructions
from ingot.ops.values import Ptr, Val
from ingot.program.shapes import Size, shape_of

BLOCK = 64
"""Steps of a loop that one accumulator sums before it is added to the next: keeps the error of long
sums low."""
SHORT_ROW = 2048
"""Elements of a prefetched row that are still in the L1 cache when the row begins."""
STORED = 4
"""Multiple of the L2 cache: larger buffers are worth prefetching if rows are stored."""
Slots = list[tuple[Ptr, torch.dtype]]
"""Memory of a reduction's accumulators."""


class RowWriter(NestWriter):
    """Writes one body, rows included."""

    def __init__(
        self, nest: Nest, lanes: int, buffers: dict[fx.Node, Ptr], symbols: dict[sympy.Symbol, Val]
    ):
        super().__init__(nest, lanes, buffers, symbols)
        self.finished: dict[Reduce, Accumulators] = {}
        self.long_nans: set[Reduce] = set()
        """Reductions of values whose NaNs may have payload in their lower 16 bits."""
        self.carries: dict[Scan, Ptr] = {}
        self.following: list[tuple[Load, int]] = []
        """Loads of the next row to prefetch, with their cache levels."""
        self.kept: dict[Expr, Ptr] = {}
        """Values of a row that later phases need too → their memory."""

    def row(self) -> None:
        """Writes everything below the outer loops."""
        if not self.nest.inner:
            self.hoist([s.value for s in self.nest.stores])
            self.store_all(self.nest.stores)
            return
        phases = Phases(self.nest)
        spreads = spreads_of(phases)
        kept = worth_keeping(phases, self.nest, self.lanes, spreads)
        self.kept = {expr: self._row_memory(expr) for expr in kept}
        fetches = max((k for k in range(1, phases.count) if not phases.stores[k]), default=None)
        if fetches in spreads:
            fetches -= 1
        for number in range(phases.count):
            self.following = self._read_next(phases, number) if number == fetches else []
            if number in spreads:
                write_spreads(self, spreads[number])
            else:
                beside = [spread.squares for spread in spreads.get(number + 1, ())]
                self.phase([*phases.reductions[number], *beside], phases.stores[number])
            self.kept_ready |= {expr for expr, first in kept.items() if first == number}
        self.kept, self.kept_ready, self.following = {}, set(), []
        self.store_all(phases.row_stores)

    def _read_next(self, phases: Phases, number: int) -> list[tuple[Load, int]]:
        """The loads in the first phase of the next row, to prefetch in phase `number` of this one,
        in which nothing is stored, with their cache levels. The hardware prefetches along a row,
        but not from one to the next. If rows are stored, they have less room in the cache."""
        inner, stored = self.nest.inner, any(phases.stores)
        if self.lanes == 1 or not self.nest.outer or self.nest.vector not in inner:
            return []
        roots = [reduce.operand for reduce in phases.reductions[0]]
        read = ordered(roots, stop=lambda e: isinstance(e, Guarded | Reduce))
        near = this_machine().l2_bytes * (STORED if stored else 1)
        found = [e for e in read if isinstance(e, Load) and self._goes_on(e, near)]
        if stored and len(found) > 1:
            return []
        length = ix.product([v.size for v in inner])
        short = isinstance(length, int) and length <= SHORT_ROW
        if number == 0 and not (stored and short):
            # The hardware reads long rows as one stream if they are adjacent or nothing comes
            # between them.
            found = [e for e in found if stored and self._step(e) != length]
        return [(load, 1 if short and not stored else 2) for load in found]

    def _step(self, load: Load) -> Size | None:
        """The stride from a row to the next."""
        return load.index.coefficient(self.nest.outer[-1])

    def _goes_on(self, load: Load, near: int) -> bool:
        """Whether the next row lies elsewhere, in a buffer of more than `near` bytes."""
        step, size = self._step(load), ix.product(shape_of(load.buffer))
        far = not isinstance(size, int) or size * load.dtype.itemsize > near
        return far and isinstance(step, int) and step != 0 and self.is_contiguous(load.index)

    def _fetch_next(self) -> None:
        if self.tail is not None:
            return
        for load, level in self.following:
            step = self._step(load)
            assert isinstance(step, int)
            at = self.index(load.index + step, first_lane=True)
            pointer = self.b.pointer_at(self.buffers[load.buffer], at, load.dtype)
            self.b.fetch(pointer, self.lanes * load.dtype.itemsize, level)

    def phase(self, reductions: Sequence[Reduce], stores: Sequence[Store]) -> None:
        """One pass over the inner loops; another if spreads in f32 overflow."""
        narrow = {r: n for r in reductions if (n := in_narrow(r)) is not None}
        self.pass_over(list(dict.fromkeys(narrow.get(r, r) for r in reductions)), stores)
        if narrow:
            write_widened(self, narrow)

    def pass_over(self, reductions: Sequence[Reduce], stores: Sequence[Store]) -> None:
        if not reductions and not stores:
            return
        groups = pairs(reductions)
        if groups and not stores and goes_by_blocks(self, groups):
            write_positions(self, groups)
            return
        totals = [self.accumulators(group[0]) for group in groups]
        summed = [k for k, group in enumerate(groups) if needs_blocks(group[0])]
        slots = [
            self.accumulators(g[0]) if k in summed else totals[k] for k, g in enumerate(groups)
        ]
        roots = [*(r.operand for r in reductions), *(s.value for s in stores)]

        self._start_scans(roots)

        def body() -> None:
            for group, slot in zip(groups, slots, strict=True):
                self.accumulate(group[0], slot)
            self._fetch_next()
            self.store_all(stores)

        def open_() -> None:
            for k in summed:
                self.reset(groups[k][0], slots[k])

        def close(low: Val) -> None:
            for k in summed:
                self.add_block(groups[k][0], slots[k], totals[k])

        *rest, last = self.nest.inner
        if summed:
            self.over_all(rest, roots, lambda: self.in_blocks(last, roots, body, open_, close))
        else:
            self.over_all(self.nest.inner, roots, body)
        for group, total in zip(groups, totals, strict=True):
            self.finish(group, total)

    def in_blocks(
        self,
        var: Var,
        roots: Sequence[Expr],
        body: Body,
        open_: Body,
        close: Callable[[Val], None],
        steps: int = BLOCK,
    ) -> None:
        """The loop of `var` in blocks of `steps` steps, with code before and after each. `close`
        gets the start of the block."""
        step = steps * (self.lanes if var is self.nest.vector else 1)
        if isinstance(var.size, int) and var.size <= 2 * step and var not in self.limits:
            open_()
            self.over(var, roots, body)
            close(self.const(0))
            return
        self.hoist(roots)
        first, last = self.limits.get(var) or (self.const(0), self.size(var.size))
        with self.b.loop(first, last, self.const(step)) as low, self.scope():
            open_()
            high = self.b.minimum(self.b.add(low, self.const(step)), last)
            self.over(var, roots, body, low, high)
            close(low)

    # -- kept values -------------------------------------------------------------------------------

    def _write(self, expr: Expr) -> Val:
        """Loads a value that an earlier phase kept; computes others."""
        if expr not in self.kept or self.guard is not None:
            return self._computed(expr)
        alignment = max(1, expr.dtype.itemsize)
        if expr in self.kept_ready:
            at = self._row_address(expr)
            value = self.b.load_register(at, expr.dtype, self.lanes, alignment)
            return value if self._in_whole_steps() else self.b.as_in_lanes(value)
        value = self.b.broadcast(self._computed(expr), self.lanes)
        put = value if self._in_whole_steps() else self.b.as_in_memory(value)
        self.b.store_register(self._row_address(expr), put, alignment)
        return value

    def _in_whole_steps(self) -> bool:
        """Whether no step along the vector reaches into the memory of the next one."""
        vector = self.nest.vector
        if vector is None or vector not in self.nest.inner:
            return True
        ends = [vector.size, *cuts_of(vector, self.nest.expressions())]
        return all(isinstance(end, int) and end % self.lanes == 0 for end in ends)

    def _computed(self, expr: Expr) -> Val:
        return self._scan(expr) if isinstance(expr, Scan) else super()._write(expr)

    def _row_memory(self, expr: Expr) -> Ptr:
        length = ix.product([v.size for v in self.nest.inner])
        assert isinstance(length, int)
        along = self.nest.vector in self.nest.inner
        return self.slot(expr.dtype, self.lanes, -(-length // self.lanes) + 1 if along else length)

    def _row_address(self, expr: Expr) -> Ptr:
        position = ix.ZERO
        for var in self.nest.inner:
            position = position * var.size + ix.of(var)
        if self.nest.vector not in self.nest.inner:
            position = position * self.lanes
        at = self.index(position, first_lane=True)
        return self.b.register_at(self.kept[expr], at, expr.dtype)

    # -- scans -------------------------------------------------------------------------------------

    def _start_scans(self, roots: Sequence[Expr]) -> None:
        for expr in ordered(roots, stop=lambda e: isinstance(e, Reduce)):
            if isinstance(expr, Scan):
                self.carries[expr] = self.slot(expr.dtype, self.lanes)
                none = identity(self.b, expr.kind, expr.dtype, self.lanes)[0]
                self.put(self.carries[expr], none)

    def _scan(self, expr: Scan) -> Val:
        """This step's elements combined with all previous ones. The carry holds those, along the
        vector in every lane, so each step waits for only one combination of the previous step."""
        along = self.nest.vector in self.nest.inner
        slot = self.carries[expr]
        carry = self.get(slot, expr.dtype, self.lanes)
        value = self.b.broadcast(self.value(expr.operand), self.lanes)
        if along and self.lanes > 1:
            neutral = identity(self.b, expr.kind, expr.dtype, self.lanes)[0]
            if self.tail is not None:
                value = self.b.select(self.tail, value, neutral)
            value = prefix(self.b, expr.kind, value, neutral)
        last = value
        if along:
            last = self.b.broadcast(self.b.lane(value, self.lanes - 1), self.lanes)
        (after,) = combine(self.b, expr.kind, (carry,), (last,))
        self.put(slot, after)
        (value,) = combine(self.b, expr.kind, (carry,), (value,))
        return value

    # -- reductions --------------------------------------------------------------------------------

    def accumulators(self, reduce: Reduce) -> Slots:
        lanes = self._acc_lanes()
        initial = self.identity_of(reduce)
        slots = [(self.slot(value.dtype, lanes), value.dtype) for value in initial]
        self.reset(reduce, slots)
        return slots

    def identity_of(self, reduce: Reduce) -> Accumulators:
        length = ix.product([v.size for v in self.nest.inner])
        short = isinstance(length, int) and length < 1 << 31
        position = torch.int32 if short else I64
        lanes = self._acc_lanes()
        return identity(self.b, reduce.kind, reduce.operand.dtype, lanes, position)

    def _acc_lanes(self) -> int:
        return self.lanes if self.nest.vector is not None else 1

    def reset(self, reduce: Reduce, slots: Slots) -> None:
        for (slot, _), value in zip(slots, self.identity_of(reduce), strict=True):
            self.put(slot, value)

    def accumulate(self, reduce: Reduce, slots: Slots) -> None:
        lanes = self._acc_lanes()
        current = tuple(self.get(s, dtype, lanes) for s, dtype in slots)
        new: Accumulators = (self.element(reduce),)
        if reduce.position is not None:
            new = (*new, self.position(reduce.position, slots[1][1], lanes))
        if self.tail is not None and self.nest.vector in self.nest.inner:
            neutral = self.identity_of(reduce)  # a spread has two accumulators per element
            new = tuple(self.b.select(self.tail, x, n) for x, n in zip(new, neutral))
        for (slot, _), value in zip(slots, advance(self.b, reduce.kind, current, new), strict=True):
            self.put(slot, value)

    def element(self, reduce: Reduce) -> Val:
        value = self.value(reduce.operand)
        if value.name not in self.b.short_nans:
            self.long_nans.add(reduce)
        return self.b.broadcast(value, self._acc_lanes())

    def position(self, position: Index, dtype: torch.dtype, lanes: int) -> Val:
        """The index of this step's elements, one per lane, in a dtype as narrow as possible."""
        b = self.b
        first = b.broadcast(b.cast(self.index(position, first_lane=True), dtype), lanes)
        vector = self.nest.vector
        step = position.coefficient(vector) if vector is not None else 0
        if step == 0 or lanes == 1:
            return first
        if not isinstance(step, int):
            return b.cast(b.broadcast(self.index(position), lanes), dtype)
        lane = b.cast(b.iota(lanes), dtype)
        return b.add(first, b.mul(lane, b.const(step, dtype)) if step != 1 else lane)

    def add_block(
        self,
        reduce: Reduce,
        slots: Slots,
        totals: Slots,
    ) -> None:
        lanes = self._acc_lanes()
        part = tuple(self.get(s, dtype, lanes) for s, dtype in slots)
        total = tuple(self.get(s, dtype, lanes) for s, dtype in totals)
        for (slot, _), value in zip(totals, combine(self.b, reduce.kind, total, part), strict=True):
            self.put(slot, value)

    def finish(self, group: Sequence[Reduce], slots: Slots) -> None:
        reduce = group[0]
        lanes = self._acc_lanes()
        result: Accumulators = tuple(self.get(s, dtype, lanes) for s, dtype in slots)
        if self.nest.vector in self.nest.inner:
            result = across_lanes(self.b, reduce.kind, result)
        if reduce not in self.long_nans:
            self.b.short_nans.update(value.name for value in result)
        if reduce.position is not None:
            result = (result[0], self.b.cast(result[1], I64))
        self.finish_with(group, result)

    def finish_with(self, group: Sequence[Reduce], result: Accumulators) -> None:
        """Makes the results of the reductions in `group` available."""
        self.finished[group[0]] = result
        for member in group:
            self.memo[-1][member] = self._outcome(member, result)

    def _outcome(self, reduce: Reduce, result: Accumulators) -> Val:
        if reduce.kind == "spread":
            count = self.size(ix.product([v.size for v in reduce.over]))
            return corrected(self.b, result, count)
        return result[reduce.part if is_positional(reduce.kind) else 0]


class Phases:
    """The passes over a row, with the reductions and full-size stores of each."""

    def __init__(self, nest: Nest):
        self.of: dict[Expr, int] = {}
        inner = set(nest.inner)
        for expr in nest.expressions():
            below = max((self.of[c] for c in all_children(expr)), default=0)
            self.of[expr] = below + 1 if isinstance(expr, Reduce) else below
        reductions = [e for e in nest.expressions() if isinstance(e, Reduce)]
        full = [s for s in nest.stores if s.index.variables() & inner]
        self.row_stores = [s for s in nest.stores if not s.index.variables() & inner]
        last = max(
            [self.of[r] for r in reductions] + [self.of[s.value] + 1 for s in full], default=0
        )
        self.count = last
        self.reductions = [[r for r in reductions if self.of[r] == p + 1] for p in range(last)]
        self.stores = [[s for s in full if self.of[s.value] == p] for p in range(last)]


ROW_BYTES = 32768
DEAR = 8
"""Instructions from which on a value is kept rather than recomputed in the next phase."""


def worth_keeping(phases: Phases, nest: Nest, lanes: int, rare: Container[int]) -> dict[Expr, int]:
    """Expensive values of a row that several phases need → the first of these phases. Phases in
    `rare`, which seldom run, do not count."""
    length = ix.product([v.size for v in nest.inner])
    if not isinstance(length, int) or nest.vector is None or lanes == 1:
        return {}
    if nest.vector not in nest.inner:
        length *= lanes
    uses = [_reach(phases.reductions[p], phases.stores[p]) for p in range(phases.count)]
    where = {
        e: [p for p, reached in enumerate(uses) if e in reached and p not in rare]
        for e in nest.expressions()
    }
    inner = set(nest.inner)
    kept: dict[Expr, int] = {}
    covered: set[Expr] = set()
    # Values that most phases need go first; of those, values that depend on the others.
    for expr in sorted(reversed(nest.expressions()), key=lambda e: -len(where[e])):
        if (
            len(where[expr]) < 2
            or expr in covered
            or not isinstance(expr, Apply)
            or expr.dtype is torch.bool
        ):
            continue
        below = ordered([expr], stop=lambda e: isinstance(e, Reduce) or e in kept)
        work = [
            e for e in below if isinstance(e, Apply) and e not in kept and e.variables() & inner
        ]
        cost = sum(instructions(e.target, e.dtype) for e in work)
        if cost >= DEAR and expr.variables() & inner and 4 * length <= ROW_BYTES:
            kept[expr] = where[expr][0]
            covered.update(below)
    return kept


def _reach(reductions: Sequence[Reduce], stores: Sequence[Store]) -> set[Expr]:
    """Expressions that a phase certainly computes for every element, which excludes those below a
    guard."""
    roots = [*(r.operand for r in reductions), *(s.value for s in stores)]
    return set(ordered(roots, stop=lambda e: isinstance(e, Guarded | Reduce)))


def needs_blocks(reduce: Reduce) -> bool:
    return reduce.kind in ADDED and is_float(reduce.operand.dtype)


def pairs(reductions: Sequence[Reduce]) -> list[list[Reduce]]:
    """Groups the value and index of an arg reduction, which share accumulators."""
    groups: dict[Any, list[Reduce]] = {}
    for r in reductions:
        key = (r.kind, r.operand, r.position) if is_positional(r.kind) else r
        groups.setdefault(key, []).append(r)
    return list(groups.values())
