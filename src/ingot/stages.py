"""The stages a program passes, as records that can be held and printed: Program (program/), Fused,
Compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from textwrap import indent
from typing import TYPE_CHECKING, Any

from torch import fx

from ingot.fuse.region import Region
from ingot.journal import Journal
from ingot.program.program import Program

if TYPE_CHECKING:
    from ingot.codegen.kernels import Kernels
    from ingot.dispatch.ways import Chosen
    from ingot.plan.ir import Plan
    from ingot.plan.prepared import Prepared
    from ingot.runtime.table import Segment


@dataclass(frozen=True)
class KernelStep:
    """A region, to be compiled to one native kernel."""

    region: Region

    def as_text(self) -> str:
        return self.region.as_text()


@dataclass(frozen=True)
class CallStep:
    """A node that runs through PyTorch's own kernel."""

    node: fx.Node
    kind: str
    """library (what ATen does best: products, convolutions, sorting …), view, host (Python),
    fallback."""
    reason: str
    """Why no native code was generated."""
    bodies: tuple[Fused, ...] = field(default=(), compare=False)
    """Of control flow: what its branches or iterations run."""
    native: bool = True
    """May a kernel of our own run it? Not where planning one failed."""

    def as_text(self) -> str:
        arguments = ", ".join(str(a) for a in self.node.args)
        head = f"{self.kind} {self.node.name} = {self.node.target}({arguments})  # {self.reason}"
        return "\n".join([head, *(indent(body.as_text(), "  | ") for body in self.bodies)])


Step = KernelStep | CallStep


@dataclass(frozen=True)
class Fused:
    """An ordered list of steps that computes the program."""

    program: Program
    steps: tuple[Step, ...]

    def as_text(self) -> str:
        return "\n".join(step.as_text() for step in self.steps)

    def count(self, kind: str) -> int:
        return sum(isinstance(s, CallStep) and s.kind == kind for s in self.steps)

    def regions(self) -> list[Region]:
        """Those of bodies included."""
        found = [s.region for s in self.steps if isinstance(s, KernelStep)]
        calls = [s for s in self.steps if isinstance(s, CallStep)]
        return found + [r for call in calls for body in call.bodies for r in body.regions()]


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
