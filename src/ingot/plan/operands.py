"""The values of a plan: buffers, and the arguments of the ops on them. An argument of a launch
points into a buffer; an Operand is a typed, strided view of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import torch

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
