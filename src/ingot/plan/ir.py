"""The Plan, the second IR: buffers, and the ops that fill them. Every record is plain data: frozen,
comparable, without addresses, tensors or FX nodes, so that a plan can be printed, parsed, verified,
interpreted and saved. Kernels are named by content; plan/resources.py maps names to the machine
code, constant tensors and Python objects of this process.

Memory is a set of buffers. An argument of a launch points into a buffer; an Operand is a typed,
strided view of one. A view in the program becomes an op of the plan only if eager code reads it.
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
    """The origin of a buffer's memory."""

    INPUT = "input"
    CONSTANT = "constant"
    """A tensor or another object of the program, stored beside the plan."""
    PACKED = "packed"
    """Computed from weights by a recipe, in a layout that only kernels read."""
    FOLDED = "folded"
    """Computed from weights by a recipe; a tensor that eager ops and results may use."""
    ARENA = "arena"
    """Part of the workspace; never a tensor."""
    RESULT = "result"
    """A tensor made by `Allocate`: a result of the program, or used by eager ops."""
    EAGER = "eager"
    """A tensor returned by an eager op."""
    CURSOR = "cursor"
    """Memory that changes with each iteration of a loop."""
    OBJECT = "object"
    """A value passed between eager ops: a number, a tuple, a tensor of unknown layout."""


@dataclass(frozen=True)
class Buffer:
    name: str
    kind: Kind
    dtype: torch.dtype | None = None
    shape: tuple[Size, ...] = ()
    strides: tuple[Size, ...] = ()
    alias: str | None = None
    """The buffer that an eager op's result is a view of."""
    lifetime: tuple[int, int] | None = None
    """Of arena memory: the first and the last position in the plan that uses it."""
    offset: int | None = None
    """In the arena, if all sizes are static; otherwise computed for each set of sizes."""

    @property
    def nbytes(self) -> Size:
        """From the start of the first element to the end of the last."""
        if self.dtype is None or any(isinstance(s, int) and s == 0 for s in self.shape):
            return 0
        extent: Size = 1
        for size, stride in zip(self.shape, self.strides, strict=True):
            extent = extent + (size - 1) * stride
        return extent * self.dtype.itemsize


# -- kernels ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel. `access` is r, w or rw for a pointer, empty for a number, `call` for
    the address of another kernel."""

    name: str
    access: str = ""
    dtype: torch.dtype | None = None
    """Of the elements pointed to; None if the kernel does not depend on it."""
    optional: bool = False
    """May the pointer be null (0)?"""


@dataclass(frozen=True)
class Kernel:
    """Machine code that launches name. `digest` identifies the MLIR it was compiled from."""

    name: str
    family: str
    digest: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Attributes:
    """Attributes of a launch besides its arguments: the geometry of a convolution, the layout of
    packed weights. Subclasses are frozen records of plain data, registered by
    `plan.text.register`."""


@dataclass(frozen=True)
class Expansion(Attributes):
    """Of a launch that expands to native calls once sizes are known, because its tables depend on
    them."""

    def sizes(self) -> tuple[Size, ...]:
        """The sizes that the calls depend on."""
        raise NotImplementedError

    def launches(self, sizes: Sequence[int]) -> Sequence[Any]:
        """The calls for the values of `sizes`."""
        raise NotImplementedError


@dataclass(frozen=True)
class Packing(Attributes):
    """A layout of packed weights."""

    dtype: torch.dtype
    """Element type of the packed buffer."""

    def make(self, *values: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


@dataclass(frozen=True)
class Recipe:
    """How a packed or folded buffer is computed from weights: `calls` on the tensors of `sources`,
    named %s0, %s1, …; then `packing` of the results, if any."""

    buffer: str
    sources: tuple[str, ...]
    calls: tuple[Call, ...]
    results: tuple[str, ...]
    packing: Packing | None = None


# -- arguments -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ref:
    """A value by name: a buffer in a plan, a local value in a Computation or Recipe."""

    name: str


@dataclass(frozen=True)
class Opaque:
    """A Python object without a text form, looked up in the resources."""

    name: str


@dataclass(frozen=True)
class Items:
    """A list; tuples represent themselves."""

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
    """`offset` bytes after the start of a buffer."""

    buffer: str
    offset: Size = 0


@dataclass(frozen=True)
class Function:
    """The address of a kernel, passed to a kernel that calls it: an epilogue, a microkernel."""

    kernel: str


@dataclass(frozen=True)
class Operand:
    """A strided view of a buffer."""

    buffer: str
    offset: Size
    """In bytes."""
    dtype: torch.dtype
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]


Argument: TypeAlias = Pointer | Function | Size
"""A pointer, the address of a kernel, or a number."""


@dataclass(frozen=True)
class Computation:
    """The ATen ops that a launch computes."""

    inputs: tuple[tuple[str, Operand | Ref], ...]
    """A Ref is an object made by eager code."""
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
    """0 <= index < size for all iterations: an assumption of a launch that was not proved for all
    sizes. It is checked once for each set of sizes."""

    index: Affine
    size: Size
    subject: str
    """The op whose operand is indexed."""
    place: Place | None = None


# -- ops -------------------------------------------------------------------------------------------

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
