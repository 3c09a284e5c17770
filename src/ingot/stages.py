"""The last stage of a program: Compiled, or Loaded from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ingot.journal import Journal

if TYPE_CHECKING:
    from ingot.codegen.loops.kernels import Kernels
    from ingot.dispatch.variants import Chosen
    from ingot.fuse.fused import Fused, Step
    from ingot.plan.ir import Plan
    from ingot.plan.prepared import Prepared
    from ingot.plan.resources import Resources


class BoundSegment(Protocol):
    """A native segment of a plan, bound in this process."""

    def bind_for(self, sizes: Mapping[str, int]) -> None:
        """Bind what the segment runs for these sizes of its symbols."""


@dataclass(frozen=True)
class Loaded:
    """An executable plan from a file."""

    run: Callable[[list[Any]], Sequence[Any]]
    source: str
    plan: Plan
    resources: Resources


@dataclass(frozen=True)
class Derivation:
    """How a program became a plan."""

    fused: Fused
    kernels: int = 0
    """Number of distinct native kernels."""
    timings: dict[str, float] = field(default_factory=dict)
    """Milliseconds per compile step."""
    native: Kernels | None = None
    """The kernel of each region, and why some regions have none."""
    plan_journal: Journal = field(default_factory=Journal)
    refusals: Mapping[Step, str] = field(default_factory=dict)
    """Why no kernel family runs a call, if the call is of a family's kind."""
    choices: tuple[Chosen, ...] = ()
    """The built-in variants chosen for its steps."""
    version: int = 0
    """Index of this version in the plan."""
    versions: tuple[Compiled, ...] = ()
    """The versions that `run` selects among by the sizes of its inputs; empty if there is one."""


@dataclass(frozen=True)
class Compiled:
    """An executable program: `run(list of inputs) -> list of outputs`, mutations written back."""

    run: Callable[[list[Any]], Sequence[Any]]
    derive: Callable[[], Derivation]
    """How it was made. A program from the cache is compiled again to answer that."""
    source: str = ""
    """The Python source of `run`."""
    plan: Plan | None = None
    """What `run` does, as data; None if PyTorch runs the whole graph."""
    resources: Resources | None = None
    """The objects in this process that the plan's names refer to."""
    prepared: tuple[Prepared, ...] = ()
    """Values computed from weights and kept, such as packed weights."""
    segments: tuple[BoundSegment, ...] = ()
    """The plan's native segments, bound in this process."""
    seconds: list[float] = field(default_factory=list, compare=False)
    """Seconds per step, if profiled."""

    @property
    def inputs(self) -> int:
        """The number of inputs of `run`."""
        if self.plan is not None:
            return len(self.plan.inputs)
        return len(self.fused.program.signature.inputs)

    @property
    def fused(self) -> Fused:
        return self.derive().fused

    @property
    def kernels(self) -> int:
        return self.derive().kernels

    @property
    def timings(self) -> dict[str, float]:
        return self.derive().timings

    @property
    def native(self) -> Kernels | None:
        return self.derive().native

    @property
    def plan_journal(self) -> Journal:
        return self.derive().plan_journal

    @property
    def refusals(self) -> Mapping[Step, str]:
        return self.derive().refusals

    @property
    def choices(self) -> tuple[Chosen, ...]:
        return self.derive().choices

    @property
    def version(self) -> int:
        return self.derive().version

    @property
    def versions(self) -> tuple[Compiled, ...]:
        return self.derive().versions


def not_planned(fused: Fused, run: Callable[[list[Any]], Sequence[Any]]) -> Compiled:
    """A program that runs without a plan of ours."""
    derivation = Derivation(fused)
    return Compiled(run, lambda: derivation)
