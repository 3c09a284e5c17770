"""The body of a kernel: a loop nest written as MLIR. Comes in: a Nest; goes out: the text of a
function that computes a range of its parallel units. What holds: what does not depend on a loop is
written before it; a tail is masked, never over-read; reductions run in phases, each over the whole
row, so that a row stays in cache between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import sympy
import torch
from torch import fx

from ingot.codegen.builder import Builder, Val, is_float
from ingot.codegen.reduce import (
    Accumulators,
    across_lanes,
    advance,
    combine,
    identity,
    is_positional,
    prefix,
)
from ingot.codegen.rules import apply_rule, pointwise_rules
from ingot.codegen.sizes import I64, emit_size
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
    Scan,
    all_children,
    ordered,
)
from ingot.fuse.index import Index, Size, Var
from ingot.fuse.loops import Nest, Store

Body = Callable[[], None]
BLOCK = 64
"""Steps of a loop that one accumulator sums before it is added to the next: keeps the error of long
sums low."""


class NestWriter:
    """Writes one body. Buffers and symbols are SSA names that the caller loads at the function's
    top."""

    def __init__(
        self, nest: Nest, lanes: int, buffers: dict[fx.Node, str], symbols: dict[sympy.Symbol, Val]
    ):
        self.nest = nest
        self.lanes = lanes
        self.b = Builder(lanes)
        self.buffers = buffers
        self.symbols = symbols
        self.entry: list[str] = []
        self.at: dict[Var, Val] = {}
        self.range: dict[Var, tuple[Size, Size]] = {}
        self.limits: dict[Var, tuple[Val, Val]] = {}
        """Loops of which only a part is to be run; a part of the vector loop starts at a multiple
        of the lanes."""
        self.memo: list[dict[Expr, Val]] = [{}]
        self.tail: Val | None = None
        self.guard: Val | None = None
        self.failed: dict[int, str] = {}
        self.finished: dict[Reduce, Accumulators] = {}
        self.carries: dict[Scan, str] = {}
        self.kept: dict[Expr, str] = {}
        """Values of a row that later phases need too, and their memory."""
        self.kept_ready: set[Expr] = set()
        self._slots = 0

    # -- small things ------------------------------------------------------------------------------

    def const(self, value: int) -> Val:
        return self.b.const(value, I64)

    def size(self, size: Size) -> Val:
        return emit_size(self.b, size, self.symbols)

    def slot(self, dtype: torch.dtype, lanes: int, count: int = 1) -> str:
        """Stack memory for values as they are in registers; LLVM turns single ones into
        registers."""
        self._slots += 1
        name = f"%slot{self._slots}"
        element = Val("", dtype, lanes).type
        self.entry.append(f"    {name}n = llvm.mlir.constant({count} : i64) : i64")
        self.entry.append(
            f"    {name} = llvm.alloca {name}n x {element} {{alignment = 64 : i64}} : "
            "(i64) -> !llvm.ptr"
        )
        return name

    def put(self, slot: str, value: Val) -> None:
        self.b.line(f"llvm.store {value.name}, {slot} : {value.type}, !llvm.ptr")

    def get(self, slot: str, dtype: torch.dtype, lanes: int) -> Val:
        kind = Val("", dtype, lanes).type
        return self.b.assign(f"llvm.load {slot} : !llvm.ptr -> {kind}", dtype, lanes)

    @contextmanager
    def scope(self) -> Any:
        self.memo.append({})
        with self.b.indented():
            yield
        self.memo.pop()

    # -- loops -------------------------------------------------------------------------------------

    def loop(self, var: Var, low: Val, high: Val, body: Body) -> None:
        """A scalar loop."""
        name = self.b.fresh()
        self.b.line(
            f"scf.for {name} = {low.name} to {high.name} step {self.const(1).name} : i64 {{"
        )
        self.at[var] = Val(name, I64)
        with self.scope():
            body()
        del self.at[var]
        self.b.line("}")

    def vector_loop(self, var: Var, low: Val, high: Val, extent: int | None, body: Body) -> None:
        """A loop in steps of `lanes`, its rest under a mask. `extent`: high - low where that is
        known."""
        lanes = self.lanes
        if lanes == 1:
            self.loop(var, low, high, body)
            return
        step = self.const(lanes)
        if extent is None or extent >= lanes:
            length = self.b.sub(high, low)
            whole = self.b.sub(length, self.b.op("arith.remsi", length, step))
            middle = self.b.add(low, whole)
            name = self.b.fresh()
            self.b.line(f"scf.for {name} = {low.name} to {middle.name} step {step.name} : i64 {{")
            self.at[var] = Val(name, I64)
            with self.scope():
                body()
            del self.at[var]
            self.b.line("}")
        else:
            middle = low
        if extent is not None and extent % lanes == 0:
            return
        some = self.b.cmp("lt", middle, high)
        self.b.line(f"scf.if {some.name} {{")
        with self.scope():
            self.at[var] = middle
            left = self.b.sub(high, middle)
            self.tail = self.b.cmp("lt", self.b.iota(lanes), left)
            body()
            self.tail = None
            del self.at[var]
        self.b.line("}")

    def segments(self, var: Var, roots: Iterable[Expr]) -> list[tuple[Size, Size]]:
        """The parts of a loop in each of which every guard on it is settled."""
        if not isinstance(var.size, int):
            return [(0, var.size)]
        cuts = {0, var.size}
        for expr in ordered(roots):
            if (
                isinstance(expr, Guarded)
                and expr.index.terms.keys() == {var}
                and expr.index.terms[var] == 1
            ):
                for bound in (expr.low - expr.index.const, expr.high - expr.index.const):
                    if isinstance(bound, int) and 0 < bound < var.size:
                        cuts.add(bound)
        if len(cuts) > 6:
            return [(0, var.size)]
        return list(pairwise(sorted(cuts)))

    def over(
        self,
        var: Var,
        roots: Sequence[Expr],
        body: Body,
        low: Val | None = None,
        high: Val | None = None,
    ) -> None:
        """The loop of `var`, or the part low … high of it, in its segments."""
        if low is None and var in self.limits:
            low, high = self.limits[var]
        parts = self.segments(var, roots)
        for start, end in parts:
            first, last = low or self.size(start), high or self.size(end)
            if len(parts) > 1:
                first = self.b.maximum(first, self.size(start))
                last = self.b.minimum(last, self.size(end))
            known = self._extent(start, end, len(parts) == 1, low is not None)
            self.range[var] = (start, end)
            self.hoist(roots)
            if var is self.nest.vector:
                self.vector_loop(var, first, last, known, body)
            else:
                self.loop(var, first, last, body)
            del self.range[var]

    def _extent(self, start: Size, end: Size, whole: bool, part: bool) -> int | None:
        """How long the loop is, as far as its tail is concerned: of a part only that there is
        none."""
        if not isinstance(start, int) or not isinstance(end, int):
            return None
        if part and not (whole and end % self.lanes == 0):
            return None
        return end - start

    def in_blocks(
        self, var: Var, roots: Sequence[Expr], body: Body, open_: Body, close: Body
    ) -> None:
        """The loop of `var` in blocks of BLOCK steps, with something to do before and after
        each."""
        step = BLOCK * (self.lanes if var is self.nest.vector else 1)
        if isinstance(var.size, int) and var.size <= 2 * step and var not in self.limits:
            open_()
            self.over(var, roots, body)
            close()
            return
        self.hoist(roots)
        name = self.b.fresh()
        first, last = self.limits.get(var) or (self.const(0), self.size(var.size))
        self.b.line(
            f"scf.for {name} = {first.name} to {last.name} step {self.const(step).name} : i64 {{"
        )
        with self.scope():
            open_()
            low = Val(name, I64)
            high = self.b.minimum(self.b.add(low, self.const(step)), last)
            self.over(var, roots, body, low, high)
            close()
        self.b.line("}")

    def over_all(self, loops: Sequence[Var], roots: Sequence[Expr], body: Body) -> None:
        if not loops:
            self.hoist(roots)
            body()
            return
        self.over(loops[0], roots, lambda: self.over_all(loops[1:], roots, body))

    def hoist(self, roots: Iterable[Expr]) -> None:
        """Write now what does not depend on loops still to be opened and is certain to be
        evaluated."""
        for expr in ordered(roots, stop=lambda e: isinstance(e, Guarded | Reduce)):
            if isinstance(expr, Number | Guarded | Reduce) or expr.variables() - self.at.keys():
                continue
            if self._ready(expr):
                self.value(expr)

    def _ready(self, expr: Expr) -> bool:
        """Are the reductions below it done?"""
        return all(not isinstance(e, Reduce) or self._known(e) is not None for e in ordered([expr]))

    def _known(self, expr: Expr) -> Val | None:
        return next((scope[expr] for scope in reversed(self.memo) if expr in scope), None)

    # -- values ------------------------------------------------------------------------------------

    def value(self, expr: Expr) -> Val:
        known = self._known(expr)
        if known is None:
            known = self._kept_or_written(expr)
            self.memo[-1][expr] = known
        return known

    def _kept_or_written(self, expr: Expr) -> Val:
        """A value that an earlier phase computed comes from the row's memory."""
        if expr not in self.kept or self.guard is not None:
            return self._write(expr)
        kind = Val("", expr.dtype, self.lanes)
        align = f"{{alignment = {max(1, expr.dtype.itemsize)} : i64}}"
        if expr in self.kept_ready:
            address = self._row_address(expr)
            return self.b.assign(
                f"llvm.load {address} {align} : !llvm.ptr -> {kind.type}", expr.dtype, self.lanes
            )
        value = self.b.broadcast(self._write(expr), self.lanes)
        self.b.line(
            f"llvm.store {value.name}, {self._row_address(expr)} {align} : {kind.type}, !llvm.ptr"
        )
        return value

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
        if isinstance(expr, Scan):
            return self._scan(expr)
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
        if lanes == 1:
            offset = self.index(expr.index)
            if self.guard is not None:
                safe = self._any(self.guard)
                offset = self.b.select(safe, offset, self.const(0))
            return self.b.load(self.b.pointer_at(base, offset, expr.dtype), expr.dtype, 1)
        mask = self._mask()
        if self._contiguous(expr.index):
            pointer = self.b.pointer_at(base, self.index(expr.index, first_lane=True), expr.dtype)
            return self.b.load(pointer, expr.dtype, lanes, mask)
        return self.b.gather(base, self.index(expr.index), expr.dtype, mask)

    def store(self, store: Store) -> None:
        base = self.buffers[store.buffer]
        value = self.value(store.value)
        lanes = self._lanes_of(store.index)
        if lanes == 1:
            assert value.lanes == 1
            self.b.store(self.b.pointer_at(base, self.index(store.index), value.dtype), value)
            return
        value = self.b.broadcast(value, lanes)
        if self._contiguous(store.index):
            pointer = self.b.pointer_at(base, self.index(store.index, first_lane=True), value.dtype)
            self.b.store(pointer, value, self._mask())
            return
        self.b.scatter(base, self.index(store.index), value, self._mask())

    def _guarded(self, expr: Guarded) -> Val:
        settled = self._settled(expr)
        if settled is not None:
            return self.value(expr.inside if settled else expr.outside)
        at = self.index(expr.index)
        inside = self.b.and_(
            self.b.cmp("ge", at, self.size(expr.low)), self.b.cmp("lt", at, self.size(expr.high))
        )
        before = self.guard
        self.guard = inside if before is None else self.b.and_(before, inside)
        self.memo.append({})
        value = self.value(expr.inside)
        self.memo.pop()
        self.guard = before
        return self.b.select(inside, value, self.value(expr.outside))

    def _settled(self, expr: Guarded) -> bool | None:
        """True or False where the guard is the same for the whole segment."""
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
        """Remember that a lane that counts met `condition`."""
        for mask in (self.tail if condition.lanes > 1 else None, self.guard):
            if mask is not None:
                condition = self.b.and_(*self.b.same_lanes(condition, mask))
        if code not in self.failed:
            self.failed[code] = self.slot(torch.int32, 1)
        slot = self.failed[code]
        seen = self.get(slot, torch.int32, 1)
        now = self.b.cast(self._any(condition), torch.int32)
        self.put(slot, self.b.or_(seen, now))

    def _any(self, condition: Val) -> Val:
        if condition.lanes == 1:
            return condition
        return self.b.assign(
            f"vector.reduction <or>, {condition.name} : {condition.type} into i1", torch.bool, 1
        )

    def _scan(self, expr: Scan) -> Val:
        """This step's elements combined with all before them, which the carry holds."""
        along = self.nest.vector in self.nest.inner
        carry_lanes = 1 if along else self.lanes
        slot = self.carries[expr]
        carry = self.get(slot, expr.dtype, carry_lanes)
        value = self.b.broadcast(self.value(expr.operand), self.lanes)
        if along and self.lanes > 1:
            neutral = identity(self.b, expr.kind, expr.dtype, self.lanes)[0]
            if self.tail is not None:
                value = self.b.select(self.tail, value, neutral)
            value = prefix(self.b, expr.kind, value, neutral)
        (value,) = combine(self.b, expr.kind, (self.b.broadcast(carry, self.lanes),), (value,))
        self.put(slot, self.b.lane(value, self.lanes - 1) if along else value)
        return value

    def _mask(self) -> Val | None:
        masks = [m for m in (self.tail, self.guard) if m is not None]
        if not masks:
            return None
        mask = masks[0] if len(masks) == 1 else self.b.and_(*self.b.same_lanes(*masks))
        return self.b.broadcast(mask, self.lanes)

    # -- indexes -----------------------------------------------------------------------------------

    def _lanes_of(self, index: Index) -> int:
        return self.lanes if self.nest.vector in index.variables() else 1

    def _contiguous(self, index: Index) -> bool:
        assert self.nest.vector is not None
        return index.coefficient(self.nest.vector) == 1

    def index(self, index: Index, first_lane: bool = False) -> Val:
        """The value of an index; along the vector one for each lane, or that of the first lane
        only."""
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
        if isinstance(atom, ix.Looked):
            return self.value(atom.value)
        inner = self.index(atom.index, first_lane)
        by = self.size(atom.by)
        # An index that counts is never negative, so truncation is the floor.
        return self.b.div(inner, by) if isinstance(atom, ix.Div) else self.b.rem(inner, by)

    # -- rows --------------------------------------------------------------------------------------

    def row(self) -> None:
        """Everything below the outer loops."""
        if not self.nest.inner:
            self.hoist([s.value for s in self.nest.stores])
            for store in self.nest.stores:
                self.store(store)
            return
        phases = Phases(self.nest)
        kept = worth_keeping(phases, self.nest, self.lanes)
        self.kept = {expr: self._row_memory(expr) for expr in kept}
        for number in range(phases.count):
            self.phase(phases.reductions[number], phases.stores[number])
            self.kept_ready |= {expr for expr, first in kept.items() if first == number}
        self.kept, self.kept_ready = {}, set()
        for store in phases.row_stores:
            self.store(store)

    def _row_memory(self, expr: Expr) -> str:
        length = ix.product([v.size for v in self.nest.inner])
        assert isinstance(length, int)
        along = self.nest.vector in self.nest.inner
        return self.slot(expr.dtype, self.lanes, -(-length // self.lanes) + 1 if along else length)

    def _row_address(self, expr: Expr) -> str:
        position = ix.ZERO
        for var in self.nest.inner:
            position = position * var.size + ix.of(var)
        if self.nest.vector not in self.nest.inner:
            position = position * self.lanes
        at = self.index(position, first_lane=True)
        element = Val("", expr.dtype).type
        name = self.b.fresh()
        self.b.line(
            f"{name} = llvm.getelementptr {self.kept[expr]}[{at.name}] : "
            f"(!llvm.ptr, i64) -> !llvm.ptr, {element}"
        )
        return name

    def phase(self, reductions: Sequence[Reduce], stores: Sequence[Store]) -> None:
        """One pass over the inner loops."""
        if not reductions and not stores:
            return
        groups = pairs(reductions)
        totals = [self._accumulators(group[0]) for group in groups]
        summed = [k for k, group in enumerate(groups) if _needs_blocks(group[0])]
        slots = [
            self._accumulators(g[0]) if k in summed else totals[k] for k, g in enumerate(groups)
        ]
        roots = [*(r.operand for r in reductions), *(s.value for s in stores)]

        self._start_scans(roots)

        def body() -> None:
            for group, slot in zip(groups, slots, strict=True):
                self._accumulate(group[0], slot)
            for store in stores:
                self.store(store)

        def open_() -> None:
            for k in summed:
                self._reset(groups[k][0], slots[k])

        def close() -> None:
            for k in summed:
                self._add_block(groups[k][0], slots[k], totals[k])

        *rest, last = self.nest.inner
        if summed:
            self.over_all(rest, roots, lambda: self.in_blocks(last, roots, body, open_, close))
        else:
            self.over_all(self.nest.inner, roots, body)
        for group, total in zip(groups, totals, strict=True):
            self._finish(group, total)

    def _start_scans(self, roots: Sequence[Expr]) -> None:
        lanes = 1 if self.nest.vector in self.nest.inner else self.lanes
        for expr in ordered(roots, stop=lambda e: isinstance(e, Reduce)):
            if isinstance(expr, Scan):
                self.carries[expr] = self.slot(expr.dtype, lanes)
                self.put(self.carries[expr], identity(self.b, expr.kind, expr.dtype, lanes)[0])

    def _reset(self, reduce: Reduce, slots: list[tuple[str, torch.dtype]]) -> None:
        for (slot, _), value in zip(slots, self._identity(reduce), strict=True):
            self.put(slot, value)

    def _add_block(
        self,
        reduce: Reduce,
        slots: list[tuple[str, torch.dtype]],
        totals: list[tuple[str, torch.dtype]],
    ) -> None:
        lanes = self._acc_lanes(reduce)
        part = tuple(self.get(s, dtype, lanes) for s, dtype in slots)
        total = tuple(self.get(s, dtype, lanes) for s, dtype in totals)
        for (slot, _), value in zip(totals, combine(self.b, reduce.kind, total, part), strict=True):
            self.put(slot, value)

    def _acc_lanes(self, reduce: Reduce) -> int:
        return self.lanes if self.nest.vector is not None else 1

    def _accumulators(self, reduce: Reduce) -> list[tuple[str, torch.dtype]]:
        lanes = self._acc_lanes(reduce)
        initial = self._identity(reduce)
        slots = [(self.slot(value.dtype, lanes), value.dtype) for value in initial]
        self._reset(reduce, slots)
        return slots

    def _accumulate(self, reduce: Reduce, slots: list[tuple[str, torch.dtype]]) -> None:
        lanes = self._acc_lanes(reduce)
        current = tuple(self.get(s, dtype, lanes) for s, dtype in slots)
        new: Accumulators = (self.b.broadcast(self.value(reduce.operand), lanes),)
        if reduce.position is not None:
            new = (*new, self._position(reduce.position, slots[1][1], lanes))
        if self.tail is not None and self.nest.vector in self.nest.inner:
            neutral = self._identity(reduce)
            new = tuple(self.b.select(self.tail, x, n) for x, n in zip(new, neutral, strict=True))
        for (slot, _), value in zip(slots, advance(self.b, reduce.kind, current, new), strict=True):
            self.put(slot, value)

    def _position(self, position: Index, dtype: torch.dtype, lanes: int) -> Val:
        """The index of this step's elements, one for each lane, in as few bits as will do."""
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

    def _identity(self, reduce: Reduce) -> Accumulators:
        length = ix.product([v.size for v in self.nest.inner])
        short = isinstance(length, int) and length < 1 << 31
        position = torch.int32 if short else I64
        lanes = self._acc_lanes(reduce)
        return identity(self.b, reduce.kind, reduce.operand.dtype, lanes, position)

    def _finish(self, group: Sequence[Reduce], slots: list[tuple[str, torch.dtype]]) -> None:
        reduce = group[0]
        lanes = self._acc_lanes(reduce)
        result: Accumulators = tuple(self.get(s, dtype, lanes) for s, dtype in slots)
        if self.nest.vector in self.nest.inner:
            result = across_lanes(self.b, reduce.kind, result)
        if reduce.position is not None:
            result = (result[0], self.b.cast(result[1], I64))
        self.finish_with(group, result)

    def finish_with(self, group: Sequence[Reduce], result: Accumulators) -> None:
        """The reductions of `group` are known from here on."""
        self.finished[group[0]] = result
        for member in group:
            self.memo[-1][member] = result[member.part if is_positional(member.kind) else 0]


class Phases:
    """The passes over a row: which reductions and which full-size stores each does."""

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
"""Instructions from which a value is kept rather than computed again in the next phase."""


def worth_keeping(phases: Phases, nest: Nest, lanes: int) -> dict[Expr, int]:
    """Values of a row that are dear and needed in more than one phase, with the first of those."""
    length = ix.product([v.size for v in nest.inner])
    if not isinstance(length, int) or nest.vector is None or lanes == 1:
        return {}
    if nest.vector not in nest.inner:
        length *= lanes
    uses = [_reach(phases.reductions[p], phases.stores[p]) for p in range(phases.count)]
    inner = set(nest.inner)
    kept: dict[Expr, int] = {}
    covered: set[Expr] = set()
    for expr in reversed(nest.expressions()):
        where = [p for p, reached in enumerate(uses) if expr in reached]
        if (
            len(where) < 2
            or expr in covered
            or not isinstance(expr, Apply)
            or expr.dtype is torch.bool
        ):
            continue
        below = ordered([expr], stop=lambda e: isinstance(e, Reduce))
        cost = sum(pointwise_rules[e.target].cost for e in below if isinstance(e, Apply))
        if cost >= DEAR and expr.variables() & inner and 4 * length <= ROW_BYTES:
            kept[expr] = where[0]
            covered.update(below)
    return kept


def _reach(reductions: Sequence[Reduce], stores: Sequence[Store]) -> set[Expr]:
    roots = [*(r.operand for r in reductions), *(s.value for s in stores)]
    return set(ordered(roots, stop=lambda e: isinstance(e, Reduce)))


def _needs_blocks(reduce: Reduce) -> bool:
    return reduce.kind == "sum" and is_float(reduce.operand.dtype)


def pairs(reductions: Sequence[Reduce]) -> list[list[Reduce]]:
    """Value and index of one arg reduction share their accumulators."""
    groups: dict[Any, list[Reduce]] = {}
    for r in reductions:
        key = (r.kind, r.operand, r.position) if is_positional(r.kind) else r
        groups.setdefault(key, []).append(r)
    return list(groups.values())
