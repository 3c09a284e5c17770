"""The stages of a program, as records that can be held and printed: Program, Fused, Compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ingot.fuse.fused import CallStep, Fused, KernelStep, Step
from ingot.program.program import Program

if TYPE_CHECKING:
    from ingot.codegen.kernels import Kernels
    from ingot.dispatch.variants import Chosen
    from ingot.execute.together import Group
    from ingot.plan.prepared import Prepared

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
    products: frozenset[Step] = frozenset()
    """Calls that run as products of our own."""
    prepared: tuple[Prepared, ...] = ()
    """What is made of weights and kept."""
    controls: frozenset[Step] = frozenset()
    """Branches and loops that run natively, without the host between their steps."""
    together: frozenset[Group] = frozenset()
    """Products of one input that run as one step."""
    choices: tuple[Chosen, ...] = ()
    """The compiler's own, between ways to run its steps."""
    versions: tuple[Compiled, ...] = ()
    """What `run` chooses between by the sizes of its inputs; empty: there is no choice."""
