"""The document behind the visual report: plain records that outlive the graphs they were made from
and become one JSON object. docs/report.md describes the format; report-ui/src/data.ts declares the
same types for the page. Values refer to each other by index.

A step is what links everything: source lines and nodes belong to steps, steps to kernels, and the
marks of a text say which of its lines belong to which step.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from ingot.capture.recompiles import Recompile
from ingot.explain.report import ChoiceRow

FORMAT = 1
"""Version of the format; it changes when a member changes its meaning."""

Line = tuple[int, int]
"""(index of the source, line number)."""


@dataclass(frozen=True)
class Source:
    """A file of the user's program."""

    name: str
    """A short path."""
    text: str


@dataclass(frozen=True)
class Text:
    """One printed stage of a graph."""

    text: str
    marks: tuple[tuple[int, int, int], ...]
    """(first line, last line, step), counted from 0 and in order; a mark may lie inside another."""


@dataclass(frozen=True)
class Node:
    """A node of the Program."""

    name: str
    """As in the Program's text."""
    kind: str
    """input, constant or call."""
    op: str
    user_op: str
    """The operation that the user called, of which the node may be a part."""
    type: str
    inputs: tuple[int, ...]
    """Nodes that it reads."""
    step: int
    """-1 if it belongs to none."""
    stack: int
    """Index into `Document.stacks`; -1 if unknown."""
    module: str


@dataclass(frozen=True)
class Step:
    """A step of Fused, in execution order."""

    name: str
    kind: str
    """kernel, native (a kernel family runs it), control, library, fallback, host or view."""
    ops: tuple[str, ...]
    """The user's operations, each once."""
    nodes: tuple[int, ...]
    kernels: tuple[int, ...]
    """The kernels that its launch calls, indexes into `Document.kernels`."""
    reason: str
    """Why there is no native code; empty if there is."""
    domain: str
    """The iteration domain of a region."""
    modules: tuple[str, ...]
    ms: float
    """Milliseconds in one call; 0 if it runs as part of another step or did not run."""
    bytes: int | None
    """Bytes loaded and stored, each buffer once; None if unknown."""
    flops: int | None
    """Floating-point operations; None if unknown."""
    within: int
    """The step whose launch computes this one as well; -1 if it has its own."""


@dataclass(frozen=True)
class ArenaBuffer:
    name: str
    type: str
    offset: int
    bytes: int
    first: int
    """Positions in the plan between which it is in use."""
    last: int
    step: int
    """The step that writes it first; -1 if unknown."""


@dataclass(frozen=True)
class Arena:
    """The memory of values that live only inside a run."""

    bytes: int
    positions: tuple[int, ...]
    """The step at each position of the plan; -1 if none."""
    buffers: tuple[ArenaBuffer, ...]


@dataclass(frozen=True)
class Pass:
    """An entry of a journal."""

    stage: str
    """program or plan."""
    name: str
    ms: float
    before: int
    after: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Graph:
    """A compiled graph, or one version of it."""

    name: str
    nodes: tuple[Node, ...]
    steps: tuple[Step, ...]
    program: Text
    regions: Text
    plan: Text
    python: Text
    arena: Arena | None
    passes: tuple[Pass, ...]
    times: dict[str, float]
    """Milliseconds of each compile step."""
    memory: dict[str, int]
    """Bytes by kind of buffer."""


@dataclass(frozen=True)
class Kernel:
    """Machine code."""

    name: str
    family: str
    mlir: str
    assembly: str
    note: str
    """Why a listing is missing."""
    calls: tuple[int, ...]
    """The functions of other modules that it calls, as kernels."""


@dataclass(frozen=True)
class Roofline:
    """What this machine was measured to do with the threads of the run."""

    gb_per_s: float
    """Reading memory."""
    cache_gb_per_s: float
    """Reading a tensor that stays in cache."""
    gflop_per_s: float
    """An f32 matmul."""


@dataclass(frozen=True)
class Host:
    """The machine and the versions of the run."""

    cpu: str
    threads: int
    vector_bits: int
    cache_bytes: int
    """The last cache; steps with less traffic are compared with the cache's roof."""
    ingot: str
    torch: str


@dataclass(frozen=True)
class Summary:
    run_ms: float
    outside_ms: float
    """Milliseconds of a call outside of its steps."""
    eager_ms: float | None
    dynamo_ms: float
    autograd_ms: float
    compile_ms: float
    """In all, Dynamo and AOTAutograd included."""
    graph_breaks: tuple[str, ...]
    uncaptured: tuple[str, ...]
    failures: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Document:
    name: str
    summary: Summary
    host: Host
    roofline: Roofline | None
    sources: tuple[Source, ...]
    stacks: tuple[tuple[Line, ...], ...]
    """Source lines of nodes, the outermost call first."""
    graphs: tuple[Graph, ...]
    kernels: tuple[Kernel, ...]
    recompiles: tuple[Recompile, ...]
    choices: tuple[ChoiceRow, ...]
    format: int = FORMAT

    def to_json(self) -> str:
        """ASCII JSON without the characters that end or open an element of HTML, so that it can
        stand inside `<script>` as it is."""
        text = json.dumps(_plain(self), ensure_ascii=True, separators=(",", ":"), allow_nan=False)
        for character in "<>&":
            text = text.replace(character, f"\\u{ord(character):04x}")
        return text


def _plain(value: Any) -> Any:
    """Records as objects, by their fields."""
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return value
