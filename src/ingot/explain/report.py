"""The report on a compiled program: a frozen record of plain numbers and strings that outlives the
graphs it was made from. Counts come first, for tests and tables. The rows list the operations of
each kernel and call, their lines in the user's program and their time. `as_text` is for people.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ingot.errors import Place

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ingot.explain.describe import Description
    from ingot.explain.records import Document


@dataclass(frozen=True)
class KernelRow:
    """A distinct native kernel and the regions it serves."""

    ops: tuple[str, ...]
    """The user's ATen operations, in order, each once."""
    nodes: int
    """Operations of one region after decomposition."""
    domain: str
    """The iteration domain: `32×512`, or `32 rows of 128` for a reduction."""
    regions: int
    """Number of regions that share it."""
    modules: tuple[str, ...]
    """Paths of the modules it computes, with repeated layers as ranges."""
    places: tuple[Place, ...]
    """Lines of the user's program."""
    ms: float
    """Milliseconds in one call of the model, for all its regions together."""
    bytes: int | None
    """Bytes loaded and stored in that call; None if a size depends on data."""

    @property
    def gb_per_s(self) -> float | None:
        return self.bytes / self.ms / 1e6 if self.bytes is not None and self.ms > 0 else None


@dataclass(frozen=True)
class CallRow:
    """One operation of one source line that runs as a call."""

    op: str
    kind: str
    """native (a kernel family runs it), library, fallback, host or view, as in CallStep."""
    reason: str
    """Why the operation has no native code; empty if it has."""
    count: int
    modules: tuple[str, ...]
    place: Place | None
    ms: float
    """Milliseconds in one call of the model, for all of them together."""


@dataclass(frozen=True)
class ChoiceRow:
    """A choice between implementations, by size."""

    name: str
    """The operation, or the compiler's builtin choice."""
    setting: str
    """The conditions for the choice, besides the size."""
    candidates: tuple[str, ...]
    served: tuple[str, ...]
    """The candidate for each range of sizes, and the reason."""
    times: tuple[str, ...] = ()
    """The time of each candidate at each measured size."""


@dataclass(frozen=True)
class CompileTimes:
    """Milliseconds of the first call minus those of a later one."""

    dynamo: float
    """Dynamo, and all time not counted below."""
    autograd: float
    """AOTAutograd, decompositions included."""
    steps: Mapping[str, float]
    """ingot, by step, all graphs together."""

    @property
    def ingot(self) -> float:
        return sum(self.steps.values())

    @property
    def total(self) -> float:
        return self.dynamo + self.autograd + self.ingot


@dataclass(frozen=True)
class Report:
    """The result of `ingot.explain`. `print(report)` shows it as text."""

    name: str
    """The name of the model or function."""
    graphs: int
    """Number of captured and compiled graphs."""
    kernels: int
    """Number of distinct fused kernels."""
    regions: int
    """Number of fused groups of ops; equal ones share a kernel."""
    native_calls: int
    """Number of matmuls and convolutions that run as native steps."""
    library_calls: int
    """Number of calls of PyTorch's library kernels: matmuls, convolutions, sorts."""
    fallbacks: int
    """Number of ops left to PyTorch because they have no native lowering."""
    eager_steps: int
    """Number of steps that run Python: control flow, values read by the program."""
    graph_breaks: tuple[str, ...]
    """Dynamo's reason for each graph break."""
    uncaptured: tuple[str, ...]
    """Dynamo's reason for each function that it left to Python."""
    kernel_rows: tuple[KernelRow, ...] = field(repr=False)
    """Fused kernels, most expensive first."""
    call_rows: tuple[CallRow, ...] = field(repr=False)
    """Calls, most expensive first; views included."""
    compile_ms: CompileTimes = field(repr=False)
    run_ms: float = field(repr=False)
    """Milliseconds of the fastest call after the first, with every step timed."""
    choices: tuple[ChoiceRow, ...] = field(default=(), repr=False)
    """Dispatched ops and built-in variants, with the sizes that each serves."""
    failures: tuple[str, ...] = ()
    """Stages of the compiler that failed, the reasons, and the parts that PyTorch runs instead."""
    notes: tuple[str, ...] = ()
    """Remarks: packed memory, recompilations, load of the machine."""
    eager_ms: float | None = field(default=None, repr=False)
    """Milliseconds of the fastest call in eager; None if it was not called."""
    description: Description | None = field(default=None, repr=False, compare=False)
    """What the visual report shows."""

    @property
    def products(self) -> int:
        """The former name of `native_calls`; deprecated."""
        return self._former("products", self.native_calls, "native_calls")

    @property
    def host_steps(self) -> int:
        """The former name of `eager_steps`; deprecated."""
        return self._former("host_steps", self.eager_steps, "eager_steps")

    @staticmethod
    def _former(former: str, value: int, name: str) -> int:
        warnings.warn(f"Report.{former} is called {name} now", DeprecationWarning, stacklevel=3)
        return value

    def as_text(self, width: int = 100) -> str:
        from ingot.explain.report_text import report_to_text

        return report_to_text(self, width)

    def __str__(self) -> str:
        return self.as_text()

    @cached_property
    def document(self) -> Document:
        """Everything that the visual report shows, as one record; docs/report.md describes it."""
        if self.description is None:
            raise ValueError("only a report made by ingot.explain has a visual form")
        return self.description.document()

    def as_html(self) -> str:
        """The visual report: one page that needs no network. The roofs of its roofline are
        measured by the first call in a process."""
        from ingot.explain.page import document_to_html
        from ingot.explain.roofline import reaching, roofline

        roofs = reaching(roofline(), self.document)
        return document_to_html(replace(self.document, roofline=roofs))

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Write the visual report to a file, to be opened in a browser."""
        Path(path).write_text(self.as_html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        """Tables for a notebook, without scripts."""
        from ingot.explain.report_html import report_to_html

        return report_to_html(self)

    def __rich__(self) -> RenderableType:
        """Tables for `rich.print`."""
        from ingot.explain.report_rich import report_to_rich

        return report_to_rich(self)
