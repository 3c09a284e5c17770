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
class Compiled:
    """An executable program: `run(list of inputs) -> list of outputs`, mutations written back."""

    fused: Fused
    run: Callable[[list[Any]], Sequence[Any]]
    source: str
    """The Python source of `run`."""
    kernels: int
    """Number of distinct native kernels."""
    timings: dict[str, float] = field(default_factory=dict)
    """Milliseconds per compile step."""
    native: Kernels | None = None
    """The kernel of each region, and why some regions have none."""
    plan: Plan | None = None
    """What `run` does, as data; None if PyTorch runs the whole graph."""
    resources: Resources | None = None
    """The objects in this process that the plan's names refer to."""
    plan_journal: Journal = field(default_factory=Journal)
    refusals: Mapping[Step, str] = field(default_factory=dict)
    """Why no kernel family runs a call, if the call is of a family's kind."""
    prepared: tuple[Prepared, ...] = ()
    """Values computed from weights and kept, such as packed weights."""
    segments: tuple[BoundSegment, ...] = ()
    choices: tuple[Chosen, ...] = ()
    """The built-in variants chosen for its steps."""
    version: int = 0
    """Index of this version in the plan."""
    seconds: list[float] = field(default_factory=list, compare=False)
    """Seconds per step, if profiled."""
    versions: tuple[Compiled, ...] = ()
    """The versions that `run` selects among by the sizes of its inputs; empty if there is one."""
