"""Liveness: the buffers that an op uses, and the positions of a plan between which each buffer is
in use.

The position of an op is its index in the order of `ir.walk`: an op comes before the ops inside it,
and the blocks of a Branch or Loop follow each other. The body of an EagerControlFlow is a plan of
its own, with positions of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from ingot.plan.ir import (
    Allocate,
    Branch,
    Check,
    Define,
    Eager,
    EagerControlFlow,
    Entries,
    Fold,
    Free,
    Items,
    Launch,
    Loop,
    Op,
    Operand,
    Pointer,
    Ref,
    Return,
    blocks,
    refs,
)

Access = Literal["r", "w", "rw", "scratch", "make", "free"]
"""r: the content is read. w: the content is stored; the old content is not needed. rw: part of the
content is modified. scratch: memory for the duration of one launch. make: memory or a cursor is
created, without content. free: it is released."""

OVERWRITING = frozenset(
    {"aten.copy_.default", "aten.fill_.Scalar", "aten.fill_.Tensor", "aten.zero_.default"}
)
"""Eager ops that replace the whole content of the buffer they write."""


def uses(op: Op) -> Iterator[tuple[str, Access]]:
    """The buffers that an op itself uses, and how; ops inside it are excluded. A buffer may occur
    more than once; reads come before writes.

    A launch reads and writes the operands of its computation. A pointer to any other buffer counts
    as `scratch`, although it may point to packed weights: the kind of the buffer distinguishes
    them. A loop reads `start` and `flag`, writes `memory` and `result`, reads or writes the memory
    of its slices according to their access, and makes its cursors.
    """
    match op:
        case Launch():
            yield from _launch(op)
        case Branch(condition=Pointer(buffer=buffer)):
            yield buffer, "r"
        case Loop():
            yield from _loop(op)
        case Eager():
            yield from _eager(op)
        case EagerControlFlow():
            yield from ((name, "r") for name in names_in((op.predicate, op.operands)))
            yield op.result, "w"
        case Define():
            yield op.buffer, "r"
        case Allocate():
            yield op.buffer, "make"
        case Fold():
            yield op.buffer, "w"
        case Check():
            yield from ((name, "r") for name in names_in(op.condition))
        case Free():
            yield from ((name, "free") for name in op.buffers)
        case Return():
            yield from ((name, "r") for name in names_in(op.values))


def _launch(op: Launch) -> Iterator[tuple[str, Access]]:
    named = set()
    for _, value in op.computes.inputs:
        name = value.name if isinstance(value, Ref) else value.buffer
        named.add(name)
        yield name, "r"
    for _, operand in op.computes.outputs:
        named.add(operand.buffer)
        yield operand.buffer, "w"
    for argument in op.arguments:
        if isinstance(argument, Pointer) and argument.buffer not in named:
            yield argument.buffer, "scratch"


def _loop(op: Loop) -> Iterator[tuple[str, Access]]:
    for carried in op.carried:
        yield carried.start.buffer, "r"
    for carried in op.carried:
        yield from ((name, "w") for name in carried.memory)
        yield carried.old, "make"
        yield carried.new, "make"
    for piece in op.sliced:
        yield piece.memory.buffer, "w" if piece.access == "w" else "r"
        yield piece.cursor, "make"
    if op.flag is not None:
        yield op.flag.buffer, "r"
    for carried in op.carried:
        if carried.result is not None:
            yield carried.result.buffer, "w"


def _eager(op: Eager) -> Iterator[tuple[str, Access]]:
    written = frozenset(op.writes)
    for name in names_in((op.call.args, op.call.kwargs)):
        if name not in written:
            yield name, "r"
    for name in op.writes:
        yield name, "w" if overwrites(op, name) else "rw"
    if op.call.result:
        yield op.call.result, "w"


def overwrites(op: Eager, name: str) -> bool:
    """Does the call replace the whole content of a buffer that it writes?"""
    target = Ref(name)
    if op.call.target in OVERWRITING and op.call.args[:1] == (target,):
        return target not in op.call.args[1:]
    return any(key == "out" and value == target for key, value in op.call.kwargs)


def names_in(value: Any) -> Iterator[str]:
    """The buffers that an argument names: by Ref, Operand or Pointer, at any depth."""
    if isinstance(value, Ref):
        yield value.name
    elif isinstance(value, Operand | Pointer):
        yield value.buffer
    elif isinstance(value, tuple):
        for each in value:
            yield from names_in(each)
    elif isinstance(value, Items):
        yield from names_in(value.values)
    elif isinstance(value, Entries):
        yield from names_in(value.pairs)
    elif isinstance(value, slice):
        yield from names_in((value.start, value.stop, value.step))


def tensors(op: Op) -> Iterator[str]:
    """The buffers that an op needs as Python objects."""
    values: Any = ()
    match op:
        case Eager():
            values = (op.call.args, tuple(v for _, v in op.call.kwargs))
        case Check():
            values = op.condition
        case EagerControlFlow():
            values = (op.predicate, op.operands)
        case Return():
            values = op.values
    yield from refs(values)


# -- lifetimes -------------------------------------------------------------------------------------


def lifetimes(ops: Iterable[Op]) -> dict[str, tuple[int, int]]:
    """The first and the last position at which each buffer is in use, not counting `Free`.

    An op uses its buffers at its own position. For a loop at `p` whose last inner op is at `e` (`p`
    if there is none):

    * A buffer used inside the loop and also before or after it is in use at least from `p` to `e`:
      the next iteration may read it, and no later iteration may overwrite it.
    * A buffer used only inside the loop is in use as in straight-line code: each iteration writes
      it before it reads it.
    * The memory of carried values and of slices, the flag and the cursors are in use from `p` to
      `e`; a carried value's `start` at `p`; its `result` at `e`, where the last value is copied.

    Two buffers may share memory exactly if their lifetimes are disjoint: a launch never writes
    memory that it reads. Aliases are not followed (arena memory has none).
    """
    found = _Lifetimes()
    found.block(ops)
    return {name: (first, found.last[name]) for name, first in found.first.items()}


class _Lifetimes:
    def __init__(self) -> None:
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self._next = 0
        self._loops: dict[str, int] = {}
        """Names used inside finished loops, and the start of the outermost of these loops."""
        self._touched: dict[str, None] = {}
        """Names used since the innermost open loop began."""

    def block(self, ops: Iterable[Op]) -> None:
        for op in ops:
            position = self._next
            self._next += 1
            if isinstance(op, Loop):
                self._loop(op, position)
                continue
            for name, access in uses(op):
                if access != "free":
                    self._use(name, position)
            for block in blocks(op):
                self.block(block)

    def _use(self, name: str, position: int) -> None:
        start = min(position, self._loops.pop(name, position))
        self.first[name] = min(self.first.get(name, start), start)
        self.last[name] = max(self.last.get(name, position), position)
        self._touched[name] = None

    def _loop(self, op: Loop, position: int) -> None:
        results = {c.result.buffer for c in op.carried if c.result is not None}
        own = [name for name in dict.fromkeys(name for name, _ in uses(op)) if name not in results]
        starts = {c.start.buffer for c in op.carried}
        through = {*_held(op)}
        for name in own:
            self._use(name, position)
        outer, self._touched = self._touched, {}
        for block in blocks(op):
            self.block(block)
        end = self._next - 1
        for name in self._touched:
            if self.first[name] < position or name in starts:
                self.last[name] = max(self.last[name], end)
            else:
                self._loops[name] = position
        self._touched = outer | self._touched
        for name in own:
            if name in through:
                self._loops.pop(name, None)
                self._use(name, end)
        for name in results:
            self._use(name, end)


def _held(op: Loop) -> Iterator[str]:
    """The buffers that a loop itself needs from its first iteration to its last."""
    for carried in op.carried:
        yield from (*carried.memory, carried.old, carried.new)
    for piece in op.sliced:
        yield from (piece.memory.buffer, piece.cursor)
    if op.flag is not None:
        yield op.flag.buffer
