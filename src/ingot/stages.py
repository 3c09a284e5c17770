"""The stages of a program, as records that can be held and printed: Program, Fused, Compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ingot.fuse.fused import CallStep, Fused, KernelStep, Step
from ingot.journal import Journal
from ingot.program.program import Program

if TYPE_CHECKING:
    from ingot.codegen.kernels import Kernels
    from ingot.dispatch.variants import Chosen
    from ingot.plan.ir import Plan
    from ingot.plan.prepared import Prepared
    from ingot.plan.resources import Resources
    from ingot.runtime.table import Segment

__all__ = ["CallStep", "Compiled", "Fused", "KernelStep", "Program", "Step"]


@dataclass(frozen=True)
class Compiled:
    """A program that runs: `run(list of inputs) -> list of outputs`, mutations written back."""

    fused: Fused
    run: Callable[[list[Any]], Sequence[Any]]
    source: str
    """The Python text of `run`."""
    kernels: int
    """Distinct native kernels."""
    timings: dict[str, float] = field(default_factory=dict)
    """Milliseconds of each compile step."""
    native: Kernels | None = None
    """Which region became which kernel, and why some did not."""
    plan: Plan | None = None
    """What `run` does, as data; None where PyTorch runs the whole graph."""
    resources: Resources | None = None
    """What the plan's names stand for in this process."""
    plan_journal: Journal = field(default_factory=Journal)
    prepared: tuple[Prepared, ...] = ()
    """What is made of weights and kept."""
    segments: tuple[Segment, ...] = ()
    """The plan's native segments, bound in this process."""
    choices: tuple[Chosen, ...] = ()
    """The compiler's own, between ways to run its steps."""
    version: int = 0
    """The number by which the plan knows this program."""
    seconds: list[float] = field(default_factory=list, compare=False)
    """Of each step, where they are timed."""
    versions: tuple[Compiled, ...] = ()
    """What `run` chooses between by the sizes of its inputs; empty: there is no choice."""
