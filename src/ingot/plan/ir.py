"""The Plan, the second IR: buffers, and the ops that fill them. Every record is plain data: frozen,
comparable, without addresses, tensors or FX nodes, so that a plan can be printed, parsed, verified,
interpreted and saved. Kernels are named by content; plan/resources.py maps names to the machine
code, constant tensors and Python objects of this process.

Memory is a set of buffers. A view in the program becomes an op of the plan only if eager code reads
it. The records that ops consist of are in operands.py and kernels.py; this module exports all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import sympy

from ingot.errors import Place
from ingot.plan.kernels import (
    LOOPS,
    Affine,
    Attributes,
    Expansion,
    Iteration,
    Kernel,
    Packing,
    Parameter,
    Quotient,
    Recipe,
    Remainder,
    Requirement,
)
from ingot.plan.operands import (
    Argument,
    Buffer,
    Call,
    Computation,
    Entries,
    Function,
    Items,
    Kind,
    Opaque,
    Operand,
    Pointer,
    Ref,
    refs,
)
from ingot.program.shapes import Size

__all__ = [
    "LOOPS",
    "NOWHERE",
    "Affine",
    "Allocate",
    "Argument",
    "AtMost",
    "Attributes",
    "Branch",
    "Buffer",
    "Call",
    "Carried",
    "Check",
    "Computation",
    "Define",
    "Eager",
    "EagerControlFlow",
    "Entries",
    "Expansion",
    "Fold",
    "Free",
    "Function",
    "Items",
    "Iteration",
    "Kernel",
    "Kind",
    "Launch",
    "Loop",
    "Op",
    "Opaque",
    "Operand",
    "Packing",
    "Parallel",
    "Parameter",
    "Plan",
    "Pointer",
    "Quotient",
    "Recipe",
    "Ref",
    "Remainder",
    "Require",
    "Requirement",
    "Return",
    "Segment",
    "Sliced",
    "Step",
    "Symbol",
    "blocks",
    "is_native",
    "refs",
    "walk",
]  # fmt: skip

Step = tuple[int, int]
"""The origin of an op, for profiles and reports: (version, step number in the Fused)."""
NOWHERE: Step = (-1, -1)


@dataclass(frozen=True)
class Launch:
    """A call of a kernel."""

    kernel: str
    arguments: tuple[Argument, ...]
    computes: Computation
    threads: Size | None = None
    """The number of threads that find work, if they may share the launch inside a parallel region;
    None if it needs a call of its own."""
    attributes: Expansion | None = None
    faults: tuple[tuple[str, Place], ...] = ()
    """The user's lines that may raise: (`division` or `lookup`, line)."""
    step: Step = field(default=NOWHERE)
    covers: tuple[Step, ...] = ()
    """Other steps that the launch computes."""


@dataclass(frozen=True)
class Parallel:
    """Launches executed by one team of threads, with a barrier after each."""

    launches: tuple[Launch, ...]
    threads: Size


@dataclass(frozen=True)
class AtMost:
    """left <= right"""

    left: Size
    right: Size


@dataclass(frozen=True)
class Branch:
    """One of two blocks, selected by sizes, by a stored boolean (a Pointer) or, between versions of
    a program, by a fact about the sizes of its inputs."""

    condition: AtMost | Pointer | sympy.Basic
    then: tuple[Op, ...]
    otherwise: tuple[Op, ...]
    step: Step = field(default=NOWHERE)


@dataclass(frozen=True)
class Carried:
    """A loop-carried value. The body reads it through the cursor `old` and writes the next value
    through `new`; the cursors swap between iterations."""

    start: Operand
    old: str
    new: str
    memory: tuple[str, str]
    result: Operand | None


@dataclass(frozen=True)
class Sliced:
    """A tensor of which each iteration sees one element along the first dimension."""

    cursor: str
    memory: Pointer
    stride: Size
    """Bytes."""
    access: str


@dataclass(frozen=True)
class Loop:
    """`count` iterations, or as long as `test` stores true in `flag`."""

    carried: tuple[Carried, ...]
    sliced: tuple[Sliced, ...]
    body: tuple[Op, ...]
    count: Size | None = None
    test: tuple[Op, ...] = ()
    flag: Pointer | None = None
    step: Step = field(default=NOWHERE)


@dataclass(frozen=True)
class Segment:
    """Consecutive native ops executed in one call from Python."""

    ops: tuple[Op, ...]
    requires: tuple[Requirement, ...] = ()


@dataclass(frozen=True)
class Require:
    """Assumptions of the native ops that follow, until segments are formed."""

    requirements: tuple[Requirement, ...]


@dataclass(frozen=True)
class Eager:
    """A call of PyTorch. `writes`: buffers whose memory it modifies."""

    call: Call
    writes: tuple[str, ...] = ()
    pure: bool = True
    """Does the call have no effect besides its result?"""
    step: Step = field(default=NOWHERE)


@dataclass(frozen=True)
class EagerControlFlow:
    """Control flow executed by Python because its bodies have eager ops: each is a plan of its own.
    `kind`: branch, loop, scan."""

    kind: str
    result: str
    predicate: Any
    operands: tuple[Any, ...]
    carried: int
    sliced: int
    bodies: tuple[Plan, ...]
    step: Step = field(default=NOWHERE)


@dataclass(frozen=True)
class Define:
    """Defines a symbol: `query` is size, stride, offset or value, of dimension `dim`."""

    symbol: str
    buffer: str
    query: str
    dim: int = 0


@dataclass(frozen=True)
class Allocate:
    buffer: str


@dataclass(frozen=True)
class Fold:
    """Computes a folded buffer, or reuses the cached one."""

    buffer: str


@dataclass(frozen=True)
class Check:
    """Raises `message` if the condition is false."""

    condition: Any
    message: str
    step: Step = field(default=NOWHERE)


@dataclass(frozen=True)
class Free:
    """The buffers are not read after this op."""

    buffers: tuple[str, ...]


@dataclass(frozen=True)
class Return:
    values: tuple[Any, ...]


Op = (
    Launch | Parallel | Branch | Loop | Segment | Require | Eager | EagerControlFlow | Define
    | Allocate | Fold | Check | Free | Return
)  # fmt: skip


# -- the plan --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Symbol:
    name: str
    assumptions: tuple[str, ...]
    """Assumptions of the sympy symbol: integer, positive, …"""
    lower: int = 0
    upper: int | None = None

    @property
    def expr(self) -> sympy.Symbol:
        return sympy.Symbol(self.name, **dict.fromkeys(self.assumptions, True))


@dataclass(frozen=True)
class Plan:
    inputs: tuple[str, ...]
    ops: tuple[Op, ...]
    buffers: tuple[Buffer, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    recipes: tuple[Recipe, ...] = ()
    symbols: tuple[Symbol, ...] = ()

    def as_text(self) -> str:
        from ingot.plan.text import plan_to_text

        return plan_to_text(self)

    def __str__(self) -> str:
        return self.as_text()

    def by_name(self) -> dict[str, Buffer]:
        return {buffer.name: buffer for buffer in self.buffers}


def blocks(op: Op) -> tuple[tuple[Op, ...], ...]:
    """The lists of ops inside an op, in execution order."""
    match op:
        case Branch():
            return (op.then, op.otherwise)
        case Loop():
            return (op.test, op.body)
        case Segment():
            return (op.ops,)
        case Parallel():
            return (op.launches,)
    return ()


def walk(ops: tuple[Op, ...]) -> Iterator[Op]:
    """Every op in pre-order: nested ops follow the op that contains them."""
    for op in ops:
        yield op
        for block in blocks(op):
            yield from walk(block)


def is_native(op: Op) -> bool:
    """Does native code execute the whole op?"""
    match op:
        case Launch() | Parallel() | Segment() | Loop() | Require():
            return True
        case Branch():
            facts = isinstance(op.condition, AtMost | Pointer)
            return facts and all(map(is_native, (*op.then, *op.otherwise)))
    return False
