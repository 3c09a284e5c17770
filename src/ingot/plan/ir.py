"""The Plan, the second IR: buffers, and the ops that fill them. Everything here is data: frozen,
comparable, without addresses, tensors or FX nodes, so that a plan can be printed, parsed, verified,
interpreted and saved. Kernels are named by content; what the names stand for in this process
(machine code, constant tensors, Python objects) is in plan/resources.py.

Memory is a set of buffers. An argument of a launch points into a buffer; an Operand is a typed,
strided view of one. A view in the program is an op of the plan only where eager code reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

import sympy
import torch

from ingot.errors import Place
from ingot.program.shapes import Size


class Kind(Enum):
    """Where the memory of a buffer comes from."""

    INPUT = "input"
    CONSTANT = "constant"
    """A tensor or another object of the program's own, beside the plan."""
    PACKED = "packed"
    """Made of weights by a recipe, in a layout that only kernels read."""
    FOLDED = "folded"
    """Made of weights by a recipe; a tensor that eager ops and results may use."""
    ARENA = "arena"
    """A piece of the workspace; never a tensor."""
    RESULT = "result"
    """A tensor that `Allocate` makes: it leaves the program, or eager ops use it."""
    EAGER = "eager"
    """A tensor that an eager op makes."""
    CURSOR = "cursor"
    """Memory that is another in every iteration of a loop."""
    OBJECT = "object"
    """No memory: a number or a tuple that eager ops pass to each other."""


@dataclass(frozen=True)
class Buffer:
    name: str
    kind: Kind
    dtype: torch.dtype | None = None
    shape: tuple[Size, ...] = ()
    strides: tuple[Size, ...] = ()
    alias: str | None = None
    """The buffer whose memory an eager op's result is a view of."""
    lifetime: tuple[int, int] | None = None
    """Of arena memory: the first and the last position in the plan at which it is in use."""
    offset: int | None = None
    """In the arena, where every size is static; otherwise it is computed for each set of sizes."""

    @property
    def nbytes(self) -> Size:
        """From the first element to the end of the last."""
        if self.dtype is None or any(isinstance(s, int) and s == 0 for s in self.shape):
            return 0
        extent: Size = 1
        for size, stride in zip(self.shape, self.strides, strict=True):
            extent = extent + (size - 1) * stride
        return extent * self.dtype.itemsize


# -- kernels ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """What a kernel takes at one place: `access` is r, w or rw for a pointer, empty for a number,
    `call` for the address of another kernel."""

    name: str
    access: str = ""
    dtype: torch.dtype | None = None
    """Of what a pointer points to; None where the kernel does not depend on it."""
    optional: bool = False
    """May the pointer be null (0)?"""


@dataclass(frozen=True)
class Kernel:
    """Machine code that launches name. `digest` is that of the MLIR it was compiled from."""

    name: str
    family: str
    digest: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Attributes:
    """What a family's launch is told besides its arguments: the geometry of a convolution, the
    layout of packed weights. Subclasses are frozen records of plain data, registered by
    `plan.text.register`."""


@dataclass(frozen=True)
class Expansion(Attributes):
    """Of a launch that becomes calls of native functions once sizes are known, because their tables
    depend on them."""

    def sizes(self) -> tuple[Size, ...]:
        """What the calls depend on."""
        raise NotImplementedError

    def launches(self, sizes: Sequence[int]) -> Sequence[Any]:
        """The calls, given the values of `sizes`."""
        raise NotImplementedError


@dataclass(frozen=True)
class Packing(Attributes):
    """A layout of packed weights."""

    dtype: torch.dtype
    """Of the packed buffer's elements."""

    def make(self, *values: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


@dataclass(frozen=True)
class Recipe:
    """How a packed or folded buffer is made of weights: `calls` on the tensors of `sources`, which
    are their %s0, %s1, …; then `packing` of the results, if any."""

    buffer: str
    sources: tuple[str, ...]
    calls: tuple[Call, ...]
    results: tuple[str, ...]
    packing: Packing | None = None


# -- arguments -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ref:
    """A value by name: in a plan a buffer, in a Computation or Recipe a value of its own."""

    name: str


@dataclass(frozen=True)
class Opaque:
    """A Python object that has no text: it is looked up in the resources."""

    name: str


@dataclass(frozen=True)
class Items:
    """A list; a tuple is a tuple."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Entries:
    """A dict."""

    pairs: tuple[tuple[Any, Any], ...]


@dataclass(frozen=True)
class Call:
    """`result = target(*args, **kwargs)`. The target is the name of an op: `aten.add.Tensor`."""

    result: str
    target: str
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Pointer:
    """`offset` bytes behind the start of a buffer."""

    buffer: str
    offset: Size = 0


@dataclass(frozen=True)
class Function:
    """The address of a kernel, for one that calls it: an epilogue, a microkernel."""

    kernel: str


@dataclass(frozen=True)
class Operand:
    """A strided view of a buffer."""

    buffer: str
    offset: Size
    """Bytes."""
    dtype: torch.dtype
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]


Argument: TypeAlias = Pointer | Function | Size
"""A pointer, the address of a kernel, or a number."""


@dataclass(frozen=True)
class Computation:
    """The ATen ops that a launch stands for."""

    inputs: tuple[tuple[str, Operand | Ref], ...]
    """A Ref: an object that eager code made."""
    calls: tuple[Call, ...]
    outputs: tuple[tuple[str, Operand], ...]

    def operands(self) -> Iterator[tuple[Operand, str]]:
        yield from ((each, "r") for _, each in self.inputs if isinstance(each, Operand))
        yield from ((each, "w") for _, each in self.outputs)


# -- what sizes must satisfy -----------------------------------------------------------------------


@dataclass(frozen=True)
class Iteration:
    """0 <= i < size"""

    size: Size


@dataclass(frozen=True)
class Quotient:
    """floor(of / by)"""

    of: Affine
    by: Size


@dataclass(frozen=True)
class Remainder:
    of: Affine
    by: Size


@dataclass(frozen=True)
class Affine:
    """constant + sum of factor · term"""

    constant: Size
    terms: tuple[tuple[Size, Iteration | Quotient | Remainder], ...] = ()


@dataclass(frozen=True)
class Requirement:
    """0 <= index < size for all iterations: a launch takes it for granted, and no proof was found
    for all sizes. It is checked once for each set of sizes."""

    index: Affine
    size: Size
    subject: str
    """The op whose operand it is about."""
    place: Place | None = None


# -- ops -------------------------------------------------------------------------------------------

Step = tuple[int, int]
"""Where an op comes from, for profiles and reports: (version, number of the Fused's step)."""
NOWHERE: Step = (-1, -1)


@dataclass(frozen=True)
class Launch:
    """A call of a kernel."""

    kernel: str
    arguments: tuple[Argument, ...]
    computes: Computation
    threads: Size | None = None
    """How many threads find something to do, where they may share it inside a parallel region;
    None: it needs a call of its own."""
    attributes: Expansion | None = None
    faults: tuple[tuple[str, Place], ...] = ()
    """The user's lines that may raise: (`division` or `lookup`, line)."""
    step: Step = field(default=NOWHERE)
    covers: tuple[Step, ...] = ()
    """Other steps that it runs as well."""


@dataclass(frozen=True)
class Parallel:
    """Launches run by one team of threads, which meet behind each of them."""

    launches: tuple[Launch, ...]
    threads: Size


@dataclass(frozen=True)
class AtMost:
    """left <= right"""

    left: Size
    right: Size


@dataclass(frozen=True)
class Branch:
    """One of two blocks: by sizes, by a stored boolean (a Pointer), or, between versions of a
    program, by a fact about the sizes of its inputs."""

    condition: AtMost | Pointer | sympy.Basic
    then: tuple[Op, ...]
    otherwise: tuple[Op, ...]
    step: Step = field(default=NOWHERE)


@dataclass(frozen=True)
class Carried:
    """A value that goes from iteration to iteration: the body reads it through the cursor `old` and
    writes the next one through `new`; the cursors change places between iterations."""

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
    """Native ops that run one after the other in one call from Python."""

    ops: tuple[Op, ...]
    requires: tuple[Requirement, ...] = ()


@dataclass(frozen=True)
class Require:
    """What the native ops behind it take for granted, before segments are formed."""

    requirements: tuple[Requirement, ...]


@dataclass(frozen=True)
class Eager:
    """A call of PyTorch. `writes`: buffers whose memory it changes."""

    call: Call
    writes: tuple[str, ...] = ()
    pure: bool = True
    """Does it do nothing but make its result?"""
    step: Step = field(default=NOWHERE)


@dataclass(frozen=True)
class Steered:
    """Control flow whose bodies need Python: each is a plan of its own. `kind`: branch, loop,
    scan."""

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
    """A symbol gets its value: `query` is size, stride, offset or value, of dimension `dim`."""

    symbol: str
    buffer: str
    query: str
    dim: int = 0


@dataclass(frozen=True)
class Allocate:
    buffer: str


@dataclass(frozen=True)
class Fold:
    """Make a folded buffer, or find it made."""

    buffer: str


@dataclass(frozen=True)
class Check:
    """Raises `message` where the condition is false."""

    condition: Any
    message: str
    step: Step = field(default=NOWHERE)


@dataclass(frozen=True)
class Free:
    """Nothing reads these after this."""

    buffers: tuple[str, ...]


@dataclass(frozen=True)
class Return:
    values: tuple[Any, ...]


Op = (
    Launch | Parallel | Branch | Loop | Segment | Require | Eager | Steered | Define | Allocate
    | Fold | Check | Free | Return
)  # fmt: skip


# -- the plan --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Symbol:
    name: str
    assumptions: tuple[str, ...]
    """What sympy takes for granted of it: integer, positive, …"""
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
    """The lists of ops inside of an op, in the order in which they would run."""
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
    """Every op, those inside of others after them."""
    for op in ops:
        yield op
        for block in blocks(op):
            yield from walk(block)


def is_native(op: Op) -> bool:
    """Does native code run all of it?"""
    match op:
        case Launch() | Parallel() | Segment() | Loop() | Require():
            return True
        case Branch():
            facts = isinstance(op.condition, AtMost | Pointer)
            return facts and all(map(is_native, (*op.then, *op.otherwise)))
    return False


def refs(value: Any) -> Iterator[str]:
    """Names that an argument of a call refers to."""
    if isinstance(value, Ref):
        yield value.name
    elif isinstance(value, Items):
        yield from refs(value.values)
    elif isinstance(value, Entries):
        yield from refs(value.pairs)
    elif isinstance(value, tuple):
        for each in value:
            yield from refs(each)
    elif isinstance(value, slice):
        yield from refs((value.start, value.stop, value.step))
