"""A kernel family: hand-written native code for one kind of op, and how programs call it. To add
one, write a folder with a subclass of Family and register it in kernels/registry.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import torch
from torch import fx
from torch.utils._sympy.functions import FloorDiv

from ingot.codegen.mlir.openmp import has_openmp
from ingot.fuse.accesses import Condition, equal
from ingot.ops.kernel_shapes import why_not_dtype
from ingot.passes.base import Pass
from ingot.plan.draft import PlanDraft
from ingot.plan.ir import Op, Parameter
from ingot.program.program import Program
from ingot.program.shapes import Size, tensor_of

Pair = tuple[Size, Size]


@dataclass(frozen=True)
class Claim:
    """A call that a family runs."""

    node: fx.Node
    """The call that it computes."""

    def reads(self) -> list[fx.Node]:
        raise NotImplementedError

    def results(self) -> Sequence[fx.Node]:
        """The tensors that its launch writes: the items of a call that returns several."""
        return (self.node,)

    def computes(self) -> Sequence[fx.Node]:
        """The calls that its launch stands for."""
        return (self.node,)

    def equal_sizes(self) -> Iterator[Pair]:
        """Pairs of operand sizes that the kernel takes as one argument."""
        yield from ()

    def conditions(self) -> list[Condition]:
        return [c for a, b in self.equal_sizes() for c in equal(a, b, self.node)]


@dataclass(frozen=True)
class Reason:
    """Why a family does not run a call of its kind."""

    text: str


C = TypeVar("C", bound=Claim)


class Family(ABC, Generic[C]):
    name: ClassVar[str]
    targets: ClassVar[Collection[Any]]
    """The ops it may claim."""

    def passes(self, program: Program) -> Sequence[Pass]:
        """Rewrites of a core program, such as fusing a group of calls into an op of the family."""
        return ()

    @abstractmethod
    def match(self, node: fx.Node, frozen: set[fx.Node]) -> Sequence[C] | Reason:
        """The launches that compute a node, in order, or the reason against them; no launches
        without a reason if the call is not of the family's kind. `frozen`: values whose memory is
        the same in every call, and values derived from them."""

    @abstractmethod
    def launch(self, claim: C, draft: PlanDraft) -> list[Op]:
        """The claim as ops of a plan; memory for its result is already assigned."""

    def merge(self, claims: Sequence[C]) -> Sequence[C]:
        """Claims that replace several others. Each of `claims` is the only one of its call; they
        come in program order."""
        return ()

    early: ClassVar[Collection[Any]] = ()
    """Calls, in a graph before lowering, that this family will probably run."""

    def precompile(self, node: fx.Node, dtype: torch.dtype) -> None:
        """Starts compiling the code for such a call ahead of time."""


def fields(
    names: Sequence[str],
    pointers: Mapping[str, tuple[str, torch.dtype | None]],
    optional: Sequence[str] = (),
) -> tuple[Parameter, ...]:
    """Parameters by name: pointers with access and dtype, all others scalars."""
    return tuple(
        Parameter(name, *pointers[name], optional=name in optional)
        if name in pointers
        else Parameter(name)
        for name in names
    )


def why_not_operands(*nodes: fx.Node | None) -> str | None:
    """The reason against operands that are not all plain tensors of one dtype with kernels."""
    values = [tensor_of(node) for node in nodes if node is not None]
    dtypes = {value.dtype for value in values}
    refusal = next(filter(None, map(why_not_dtype, dtypes)), None)
    if refusal is not None:
        return refusal
    if len(dtypes) > 1:
        return "the operands differ in dtype"
    if any(value.layout is not torch.strided for value in values):
        return "an operand is not strided"
    if any(value.is_neg() for value in values):
        return "an operand is a lazily negated view"
    return None


def why_not_frozen(node: fx.Node, name: str) -> str:
    """The reason against a weight whose memory is not the same in every call."""
    if node.op != "placeholder":
        return f"{name} is computed in every call, so that packing it does not pay"
    return f"{name} is an input that may change, not a frozen weight"


def broadcast(shape: Sequence[Size], full: Sequence[Size]) -> Iterator[Pair]:
    """Pairs sizes other than one with those of the full shape."""
    for size, other in zip(reversed(shape), reversed(full)):
        if size != 1:
            yield size, other


def useful_threads(work: Size, for_a_thread: int) -> Size | None:
    """Threads with enough work; None without OpenMP."""
    if not has_openmp():
        return None
    return work // for_a_thread if isinstance(work, int) else FloorDiv(work, for_a_thread)
