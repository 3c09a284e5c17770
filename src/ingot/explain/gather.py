"""Turns the steps of all compiled graphs and their times into report rows: one for each distinct
kernel, and one for each operation of a source line that runs as a call. A region that did not
compile is a row of calls: one operation left to PyTorch for each node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import fx

from ingot.codegen.loops.kernels import CompiledKernel
from ingot.errors import Place
from ingot.explain.origin import module_paths, op_name, places_of, ranges_of, user_op, user_ops
from ingot.explain.report import CallRow, ChoiceRow, KernelRow
from ingot.explain.traffic import kernel_bytes, size_hints
from ingot.fuse.fused import CallStep, KernelStep
from ingot.fuse.region import Region
from ingot.plan.ir import Branch, Launch, Loop, is_native, walk
from ingot.program.source import node_place
from ingot.stages import Compiled

StepTimes = Sequence[Sequence[float]]
"""Milliseconds by graph and step."""

CONTROL_FLOW = "runs in Python: a body has an eager step, or a new size"


class _Call(NamedTuple):
    """The key by which calls are grouped into rows."""

    op: str
    kind: str
    reason: str
    place: Place | None


def kernel_rows(graphs: Sequence[Compiled], times: StepTimes) -> tuple[KernelRow, ...]:
    uses: dict[str, list[tuple[CompiledKernel, float, int | None]]] = {}
    for graph, ms in zip(graphs, times):
        hints = size_hints(graph.fused.program.graph)
        for step, cost in zip(graph.fused.steps, ms):
            kernel = _kernel(graph, step.region) if isinstance(step, KernelStep) else None
            if kernel is not None:
                uses.setdefault(kernel.text, []).append((kernel, cost, kernel_bytes(kernel, hints)))
    rows = [_kernel_row(group) for group in uses.values()]
    return tuple(sorted(rows, key=lambda row: -row.ms))


def _kernel_row(group: Sequence[tuple[CompiledKernel, float, int | None]]) -> KernelRow:
    regions = [kernel.region for kernel, _, _ in group]
    nodes = [node for region in regions for node in region.members]
    sizes = [size for _, _, size in group]
    return KernelRow(
        ops=user_ops(regions[0].members),
        nodes=len(regions[0].members),
        domain=domain_text(regions[0]),
        regions=len(regions),
        modules=ranges_of(path for region in regions for path in module_paths(region.members)),
        places=places_of(nodes),
        ms=sum(ms for _, ms, _ in group),
        bytes=None if None in sizes else sum(size for size in sizes if size is not None),
    )


def domain_text(region: Region) -> str:
    outer, inner = region.outer(), region.inner()
    rows = "×".join(str(v.size) for v in outer) or "1"
    if not inner:
        return rows
    return f"{rows} {'rows' if outer else 'row'} of {'×'.join(str(v.size) for v in inner)}"


def _kernel(graph: Compiled, region: Region) -> CompiledKernel | None:
    return graph.native.by_region.get(region) if graph.native is not None else None


def choice_rows(graphs: Sequence[Compiled]) -> tuple[ChoiceRow, ...]:
    """The choices, each once, the user's dispatched operations first."""
    rows: dict[ChoiceRow, None] = {}
    for graph in graphs:
        for entry in graph.fused.program.journal.entries:
            for note in entry.notes if entry.name == "resolve" else ():
                name, _, rest = note.partition(": ")
                rows[ChoiceRow(name, "", (), (rest,))] = None
    for graph in graphs:
        for chosen in graph.choices:
            served = tuple(row.as_text() for row in chosen.table.rows)
            row = ChoiceRow(chosen.name, chosen.setting, chosen.variants, served, chosen.times())
            rows[row] = None
    return tuple(rows)


def call_rows(graphs: Sequence[Compiled], times: StepTimes) -> tuple[CallRow, ...]:
    groups: dict[_Call, list[tuple[fx.Node, float]]] = {}
    for graph, ms in zip(graphs, times):
        native = native_steps(graph)
        for number, (step, cost) in enumerate(zip(graph.fused.steps, ms)):
            for node, call, share in _calls(graph, step, cost, native.get(number)):
                groups.setdefault(call, []).append((node, share))
    rows = [_call_row(call, found) for call, found in groups.items()]
    return tuple(sorted(rows, key=lambda row: -row.ms))


def _call_row(call: _Call, found: Sequence[tuple[fx.Node, float]]) -> CallRow:
    modules = ranges_of(path for node, _ in found for path in module_paths([node]))
    total = sum(ms for _, ms in found)
    return CallRow(call.op, call.kind, call.reason, len(found), modules, call.place, total)


def _calls(
    graph: Compiled, step: KernelStep | CallStep, ms: float, native: str | None
) -> Iterator[tuple[fx.Node, _Call, float]]:
    """The calls of a step, and the milliseconds of each."""
    if isinstance(step, CallStep):
        if native == "control":
            return
        node = step.node
        name = user_op(node) if step.kind == "view" else op_name(node.target)
        reason = "" if native else why_left(graph, step)
        yield node, _Call(name, native or step.kind, reason, node_place(node)), ms
        return
    region = step.region
    if graph.native is None or region in graph.native.by_region:
        return
    reason = graph.native.failures.get(region, "its kernel was not built").splitlines()[0]
    for node in region.members:
        call = _Call(op_name(node.target), "fallback", reason, node_place(node))
        yield node, call, ms / len(region.members)


def why_left(graph: Compiled, step: CallStep) -> str:
    if _is_control_flow(step.node):
        return CONTROL_FLOW
    return graph.refusals.get(step) or step.reason


def native_steps(graph: Compiled) -> dict[int, str]:
    """Calls that native code runs, by the number of their step: `native` kernels or `control`
    flow."""
    found: dict[int, str] = {}
    if graph.plan is None:
        return found
    families = {kernel.name: kernel.family for kernel in graph.plan.kernels}
    for op in walk(graph.plan.ops):
        if isinstance(op, Launch) and families[op.kernel] != "loops":
            steps, kind = (op.step, *op.covers), "native"
        elif isinstance(op, Branch | Loop) and is_native(op):
            steps, kind = (op.step,), "control"
        else:
            continue
        for version, number in steps:
            if version == graph.version:
                found[number] = max(kind, found.get(number, ""))
    calls = {k for k, step in enumerate(graph.fused.steps) if isinstance(step, CallStep)}
    control = {k for k in calls if _has_bodies(graph.fused.steps[k])}
    return {
        k: "control" if k in control else "native"
        for k, kind in found.items()
        if k in calls and (kind == "native" or k in control)
    }


def _has_bodies(step: KernelStep | CallStep) -> bool:
    return isinstance(step, CallStep) and bool(step.bodies)


def _is_control_flow(node: fx.Node) -> bool:
    return isinstance(node.target, torch._ops.HigherOrderOperator)
