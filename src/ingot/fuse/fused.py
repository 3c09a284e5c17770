"""Fused: a program as an ordered list of steps. A step is a region to be compiled, or a call of
PyTorch's own kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import indent

from torch import fx

from ingot.fuse.region import Region
from ingot.program.program import Program


@dataclass(frozen=True)
class KernelStep:
    """A region, to be compiled to one native kernel."""

    region: Region

    @property
    def name(self) -> str:
        return ", ".join(node.name for node in self.region.stored)

    def as_text(self) -> str:
        return self.region.as_text()


@dataclass(frozen=True)
class CallStep:
    """A node that runs through PyTorch's own kernel."""

    node: fx.Node
    kind: str
    """library (ops that ATen does best: matmuls, convolutions, sorting …), view, host (Python),
    fallback."""
    reason: str
    """Why no native code was generated."""
    bodies: tuple[Fused, ...] = field(default=(), compare=False)
    """For control flow: the graphs of its branches or of its loop."""
    native: bool = True
    """May a kernel of our own run it? False once planning one failed."""

    @property
    def name(self) -> str:
        return self.node.name

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
        """Including those of bodies."""
        found = [s.region for s in self.steps if isinstance(s, KernelStep)]
        calls = [s for s in self.steps if isinstance(s, CallStep)]
        return found + [r for call in calls for body in call.bodies for r in body.regions()]
