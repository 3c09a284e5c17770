"""The report: what a program became, as a frozen record of plain numbers and strings that outlives
the graphs it was made from. Counts come first, for tests and tables; the rows behind them say which
operations share a kernel, which are calls, where in the user's program each comes from, and what a
run of them costs. `as_text` is for people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ingot.errors import Place


@dataclass(frozen=True)
class KernelRow:
    """A distinct native kernel and the regions it serves."""

    ops: tuple[str, ...]
    """The user's ATen operations, in order, each once."""
    nodes: int
    """Operations of one region after decomposition."""
    domain: str
    """What it loops over: `32×512`, or `32 rows of 128` where it reduces."""
    regions: int
    """How many regions share it."""
    modules: tuple[str, ...]
    """Paths of the modules it computes, layers that repeat as ranges."""
    places: tuple[Place, ...]
    """Lines of the user's program."""
    ms: float
    """Of one call of the model, all its regions together."""
    bytes: int | None
    """Loaded and stored in that call; None where a size depends on data."""

    @property
    def gb_per_s(self) -> float | None:
        return self.bytes / self.ms / 1e6 if self.bytes is not None and self.ms > 0 else None


@dataclass(frozen=True)
class CallRow:
    """One operation of one source line that PyTorch runs."""

    op: str
    kind: str
    """product, or library, fallback, host or view, as in CallStep."""
    reason: str
    """Why there is no native code."""
    count: int
    modules: tuple[str, ...]
    place: Place | None
    ms: float
    """Of one call of the model, all of them together."""


@dataclass(frozen=True)
class ChoiceRow:
    """A choice between implementations, by size."""

    name: str
    """Of the operation or of the compiler's own choice."""
    setting: str
    """What it holds for, besides the size."""
    candidates: tuple[str, ...]
    served: tuple[str, ...]
    """Which sizes are served by which of them, and why."""
    times: tuple[str, ...] = ()
    """Of each at each size that was measured."""


@dataclass(frozen=True)
class CompileTimes:
    """Milliseconds of the first call, less those of a later one."""

    dynamo: float
    """Dynamo's, and whatever else is nobody's below."""
    autograd: float
    """AOTAutograd's, decompositions included."""
    steps: Mapping[str, float]
    """ingot's own, by step, all graphs together."""

    @property
    def ingot(self) -> float:
        return sum(self.steps.values())

    @property
    def total(self) -> float:
        return self.dynamo + self.autograd + self.ingot


@dataclass(frozen=True)
class Report:
    """What `ingot.explain` found."""

    name: str
    """Of the model or function."""
    graphs: int
    """Graphs that were captured and compiled."""
    kernels: int
    """Distinct native kernels."""
    regions: int
    """Groups of operations that became a kernel's work."""
    products: int
    """Matrix products and convolutions that run as native code of our own."""
    library_calls: int
    """Products, convolutions, sorts and the like, by PyTorch's libraries."""
    fallbacks: int
    """Operations left to PyTorch for want of native code."""
    host_steps: int
    """Steps that need Python: control flow, values read on the host."""
    graph_breaks: tuple[str, ...]
    """Why Dynamo cut the program, once for each cut."""
    uncaptured: tuple[str, ...]
    """Why Dynamo left a whole function to Python, once for each."""
    kernel_rows: tuple[KernelRow, ...] = field(repr=False)
    """The dearest first."""
    call_rows: tuple[CallRow, ...] = field(repr=False)
    """The dearest first; views included."""
    compile_ms: CompileTimes = field(repr=False)
    run_ms: float = field(repr=False)
    """The fastest call after the first, each step timed."""
    choices: tuple[ChoiceRow, ...] = field(default=(), repr=False)
    """Dispatched operations, and the compiler's own choices."""
    failures: tuple[str, ...] = ()
    """Stages of the compiler that failed, why, and what PyTorch runs in their place."""
    notes: tuple[str, ...] = ()
    """What the reader should know about how this was found."""

    def as_text(self, width: int = 100) -> str:
        from ingot.explain.report_text import report_to_text

        return report_to_text(self, width)

    def __str__(self) -> str:
        return self.as_text()
