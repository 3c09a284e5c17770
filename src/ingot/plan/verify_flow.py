"""Checks along every path of a plan: content is written before it is read, nothing is used after it
is freed, symbols are defined before use, every path ends with `return`, and blocks contain only the
ops allowed in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from ingot.plan.invariants import Invariant
from ingot.plan.ir import (
    Allocate,
    AtMost,
    Branch,
    Buffer,
    Check,
    Define,
    Eager,
    EagerControlFlow,
    Fold,
    Free,
    Kind,
    Launch,
    Loop,
    Op,
    Parallel,
    Pointer,
    Return,
    Segment,
    is_native,
)
from ingot.plan.liveness import names_in, overwrites, tensors, uses
from ingot.plan.record_fields import symbols_in
from ingot.plan.verify_context import WRITABLE, Fault, VerifyContext
from ingot.plan.verify_ops import verify_check, verify_eager, verify_loop_parts
from ingot.program.expressions import is_condition

FREED = frozenset({Kind.INPUT, Kind.RESULT, Kind.EAGER, Kind.OBJECT, Kind.FOLDED, Kind.CONSTANT})

HIDDEN = frozenset({Kind.ARENA, Kind.CURSOR, Kind.PACKED})
"""Memory that is no tensor."""


@dataclass
class State:
    """Facts that hold on every path to an op or, if noted, on some path."""

    there: set[str]
    """Buffers whose memory or object exists."""
    written: set[str]
    """Buffers that have content."""
    symbols: set[str] = field(default_factory=set)
    freed: set[str] = field(default_factory=set)
    """On some path."""
    replaced: set[str] = field(default_factory=set)
    """Inputs whose old content was replaced, on some path."""
    ended: bool = False
    """Does every path end with `return`?"""

    def copy(self) -> State:
        return State(
            set(self.there), set(self.written), set(self.symbols), set(self.freed),
            set(self.replaced), self.ended,
        )  # fmt: skip

    def join(self, one: State, other: State) -> None:
        sides = [side for side in (one, other) if not side.ended] or [one]
        self.there = set.intersection(*(side.there for side in sides))
        self.written = set.intersection(*(side.written for side in sides))
        self.symbols = set.intersection(*(side.symbols for side in sides))
        self.freed = set.union(*(side.freed for side in sides))
        self.replaced = set.union(*(side.replaced for side in sides))
        self.ended = one.ended and other.ended


def verify_flow(context: VerifyContext) -> None:
    _Flow(context).run()


class _Flow:
    def __init__(self, context: VerifyContext):
        self.context = context
        self.next = 0
        self.at = 0
        """The position of the op being checked."""
        self.allocates = Invariant.ALLOCATIONS in context.holds
        self.separate = Invariant.BUFFERS in context.holds

    def run(self) -> None:
        plan, kinds = self.context.plan, (Kind.CONSTANT, Kind.PACKED, Kind.INPUT)
        objects = {b.name for b in plan.buffers if b.kind is Kind.OBJECT} - self.context.made
        start = {b.name for b in plan.buffers if b.kind in kinds} | set(plan.inputs) | objects
        memory = {Kind.ARENA} if self.allocates else {Kind.ARENA, Kind.RESULT}
        state = State(start | {b.name for b in plan.buffers if b.kind in memory}, set(start))
        self.block(plan.ops, state, "plan")
        if not state.ended:
            raise Fault(self.next - 1, "a path through the plan has no return")

    def fail(self, why: str) -> None:
        raise Fault(self.at, why)

    def block(self, ops: Iterable[Op], state: State, inside: str) -> None:
        for op in ops:
            self.at, self.next = self.next, self.next + 1
            if state.ended:
                self.fail("it is never reached: every path before it returns")
            self.may_stand(op, inside)
            for symbol in symbols_in(op):
                if symbol.name not in state.symbols:
                    self.fail(f"the symbol {symbol} has no value yet")
            self.tensors(op)
            self.op(op, state, inside)

    def tensors(self, op: Op) -> None:
        """Python sees tensors and objects, not memory."""
        hidden = HIDDEN if self.separate else HIDDEN - {Kind.ARENA}
        for name in tensors(op):
            if self.context.buffer(name, self.at).kind in hidden:
                self.fail(f"%{name} is {self.context.buffers[name].kind.value} memory, no tensor")

    def may_stand(self, op: Op, inside: str) -> None:
        if inside == "plan":
            return
        if inside == "parallel region":
            if not isinstance(op, Launch) or op.threads is None:
                self.fail("a parallel region may only contain launches that threads can share")
        elif not is_native(op) or isinstance(op, Segment):
            self.fail(f"a {inside} may only contain native ops")

    def op(self, op: Op, state: State, inside: str) -> None:
        match op:
            case Branch():
                self.branch(op, state, inside)
            case Loop():
                self.loop(op, state)
            case Segment():
                self.block(op.ops, state, "segment")
            case Parallel():
                self.block(op.launches, state, "parallel region")
            case Free():
                self.free(op, state)
            case Allocate() | Fold():
                self.make(op, state)
            case Define():
                self.define(op, state)
            case Return():
                self.read((name for name, _ in uses(op)), state, returned=True)
                state.ended = True
            case _:
                self.plain(op, state)

    # -- reading and writing -----------------------------------------------------------------------

    def read(self, names: Iterable[str], state: State, returned: bool = False) -> None:
        for name in names:
            self.exists(name, state)
            if name not in state.written:
                self.fail(f"%{name} is read, but nothing has written it on every path to here")
            if name in state.replaced and not returned:
                self.fail(f"%{name} is read after its content was replaced")

    def exists(self, name: str, state: State) -> None:
        buffer = self.context.buffer(name, self.at)
        if name in state.freed:
            self.fail(f"%{name} is used after it was freed")
        if name not in state.there:
            self.fail(f"%{name} is not there yet")
        if buffer.kind is Kind.PACKED:
            self.sources(name, state)

    def sources(self, name: str, state: State) -> None:
        for source in self.context.recipes[name].sources:
            if source in state.freed:
                self.fail(f"%{name} is made of %{source}, which was freed")

    def write(self, names: Iterable[str], state: State) -> None:
        for name in names:
            self.exists(name, state)
            buffer = self.context.buffers[name]
            if buffer.kind not in WRITABLE:
                self.fail(f"%{name} is {buffer.kind.value} memory, which is never written")
            if name in self.context.read_cursors:
                self.fail(f"%{name} is a cursor to read through")
            self.known_layout(buffer, state)
            state.written.add(name)

    def known_layout(self, buffer: Buffer, state: State) -> None:
        for symbol in symbols_in((buffer.shape, buffer.strides)):
            if symbol.name not in state.symbols:
                self.fail(f"%{buffer.name} depends on {symbol}, which has no value yet")

    def plain(self, op: Op, state: State) -> None:
        """Ops that read, then write."""
        found = list(uses(op))
        if isinstance(op, Eager):
            verify_eager(self.context, op, self.at)
        self.scratch([name for name, access in found if access == "scratch"], state)
        self.read((name for name, access in found if access in ("r", "rw")), state)
        if isinstance(op, Launch):
            self.write((name for name, access in found if access == "w"), state)
        elif isinstance(op, Eager):
            self.eager(op, state)
        elif isinstance(op, EagerControlFlow):
            self.result(op.result, state)
        elif isinstance(op, Check):
            verify_check(op, self.at)

    def scratch(self, names: list[str], state: State) -> None:
        for name in names:
            self.exists(name, state)
            if self.context.buffers[name].kind is not Kind.PACKED:
                self.known_layout(self.context.buffers[name], state)

    def make(self, op: Allocate | Fold, state: State) -> None:
        name = op.buffer
        kind = self.context.buffer(name, self.at).kind
        if kind is not (Kind.RESULT if isinstance(op, Allocate) else Kind.FOLDED):
            self.fail(f"%{name} is {kind.value} memory, which this op does not make")
        if name in state.there or name in state.freed:
            self.fail(f"%{name} is made a second time")
        self.known_layout(self.context.buffers[name], state)
        state.there.add(name)
        if isinstance(op, Fold):
            self.sources(name, state)
            state.written.add(name)

    def free(self, op: Free, state: State) -> None:
        if not op.buffers:
            self.fail("it frees nothing")
        for name in op.buffers:
            if self.context.buffer(name, self.at).kind not in FREED:
                self.fail(f"%{name} is no tensor or object of its own")
            self.exists(name, state)
            state.freed.add(name)

    # -- eager ops ---------------------------------------------------------------------------------

    def eager(self, op: Eager, state: State) -> None:
        for name in op.writes:
            self.write([name], state)
            if self.context.buffers[name].kind is Kind.INPUT and overwrites(op, name):
                state.replaced.add(name)
        self.result(op.call.result, state, op)

    def result(self, name: str, state: State, op: Eager | None = None) -> None:
        if not name:
            return
        if name in state.there or name in state.freed:
            self.fail(f"%{name} is made a second time")
        alias = self.context.buffers[name].alias
        if alias is not None:
            self.exists_or_freed(alias, state)
            given = () if op is None else names_in((op.call.args, op.call.kwargs))
            if self.context.root(alias) not in self.context.roots(given):
                self.fail(f"%{name} is no view of %{alias}, which the op does not read")
        state.there.add(name)
        state.written.add(name)

    def exists_or_freed(self, name: str, state: State) -> None:
        """A view keeps memory alive after the name of its owner is freed."""
        if self.context.buffer(name, self.at).name not in state.there:
            self.fail(f"%{name} is not there yet")

    def define(self, op: Define, state: State) -> None:
        self.read([op.buffer], state)
        symbols = {symbol.name: symbol for symbol in self.context.plan.symbols}
        if op.symbol not in symbols:
            self.fail(f"the symbol {op.symbol} is not declared")
        if op.symbol in state.symbols:
            self.fail(f"the symbol {op.symbol} is defined a second time")
        buffer = self.context.buffers[op.buffer]
        told: tuple[Any, ...] = {"size": buffer.shape, "stride": buffer.strides}.get(op.query, ())
        if op.query in ("size", "stride"):
            if not 0 <= op.dim < len(told) or told[op.dim] != symbols[op.symbol].expr:
                self.fail(f"{op.symbol} is no {op.query} of dimension {op.dim} of %{op.buffer}")
        elif op.query not in ("offset", "value") or op.dim != 0:
            self.fail(f"no query {op.query} of dimension {op.dim}")
        if (op.query == "value") != (buffer.kind is Kind.OBJECT):
            self.fail(f"%{op.buffer} has no {op.query}")
        state.symbols.add(op.symbol)

    # -- blocks ------------------------------------------------------------------------------------

    def branch(self, op: Branch, state: State, inside: str) -> None:
        self.read((name for name, _ in uses(op)), state)
        if isinstance(op.condition, Pointer):
            if self.context.buffers[op.condition.buffer].dtype is not torch.bool:
                self.fail("it branches on what is no boolean")
        elif not isinstance(op.condition, AtMost) and not is_condition(op.condition):
            self.fail("it branches on an expression that is no condition")
        one, other = state.copy(), state.copy()
        self.block(op.then, one, inside)
        self.block(op.otherwise, other, inside)
        if inside != "plan" and (one.ended or other.ended):
            self.fail("native code cannot return from the plan")
        state.join(one, other)

    def loop(self, op: Loop, state: State) -> None:
        verify_loop_parts(self.context, op, self.at)
        self.read((carried.start.buffer for carried in op.carried), state)
        for carried in op.carried:
            self.write(carried.memory, state)
        pieces = [(piece.memory.buffer, piece.access) for piece in op.sliced]
        self.read((name for name, access in pieces if access == "r"), state)
        inner = state.copy()
        inner.there |= {name for c in op.carried for name in (c.old, c.new)}
        inner.there |= {piece.cursor for piece in op.sliced}
        inner.written |= {carried.old for carried in op.carried}
        inner.written |= {piece.cursor for piece in op.sliced if piece.access == "r"}
        start = self.at
        self.block(op.test, inner, "loop")
        if op.flag is not None:
            self.at = start
            self.read([op.flag.buffer], inner)
        tested = inner.copy()
        self.block(op.body, inner, "loop")
        self.at = start
        self.read((carried.new for carried in op.carried), inner)
        self.read((piece.cursor for piece in op.sliced), inner)
        after = inner if isinstance(op.count, int) and op.count > 0 else tested
        state.written |= after.written & state.there
        state.replaced |= inner.replaced
        self.write((name for name, access in pieces if access == "w"), state)
        results = (c.result.buffer for c in op.carried if c.result is not None)
        self.write(results, state)
