"""Describes a compiled graph for the visual report: its nodes, its steps with their work and time,
its texts, its arena and its journals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import fx

from ingot.codegen.loops.kernels import CompiledKernel
from ingot.explain.gather import domain_text, native_steps, why_left
from ingot.explain.origin import module_path, module_paths, user_op, user_ops
from ingot.explain.records import Arena, ArenaBuffer, Graph, Node, Pass, Step
from ingot.explain.sources import Sources
from ingot.explain.stage_texts import (
    plan_text,
    position_steps,
    program_text,
    python_text,
    regions_text,
    writers,
)
from ingot.explain.traffic import Hints, kernel_bytes, number, size_hints
from ingot.explain.work import (
    bytes_by_kind,
    launch_bytes,
    node_bytes,
    node_flops,
    region_flops,
    total,
)
from ingot.fuse.fused import CallStep, Fused, KernelStep
from ingot.plan.ir import Function, Kind, Launch, Plan, walk
from ingot.plan.values import type_text
from ingot.program.text import is_reference, target_name, value_names, value_type
from ingot.runtime.arena_layout import ArenaLayout
from ingot.stages import Compiled

_NODE_KINDS = {"placeholder": "input", "get_attr": "constant"}
MOST_TYPE = 200
"""Characters of a type; a list of a thousand tensors is cut."""


def describe_graph(
    name: str,
    graph: Compiled,
    ms: Sequence[float],
    sources: Sources,
    kernels: Mapping[str, int],
) -> Graph:
    """`kernels`: the index of each kernel by its name in the plan."""
    hints = size_hints(graph.fused.program.graph)
    owners = _owners(graph.fused)
    names = value_names(graph.fused.program.graph)
    index = {node: k for k, node in enumerate(filter(_is_shown, names))}
    nodes = _nodes(graph, names, index, owners, sources)
    steps = _Steps(graph, ms, hints, kernels, index)
    plan = graph.plan
    arena = None if plan is None else _arena(plan, graph.version, hints)
    return Graph(
        name=name,
        nodes=nodes,
        steps=tuple(steps.step(k) for k in range(len(graph.fused.steps))),
        program=program_text(graph, {node.name: node.step for node in nodes}),
        regions=regions_text(graph),
        plan=plan_text(graph),
        python=python_text(graph),
        arena=arena,
        passes=(
            *_passes("program", graph.fused.program.journal),
            *_passes("plan", graph.plan_journal),
        ),
        times=dict(graph.timings),
        memory={} if plan is None else _memory(graph, plan, arena, hints),
    )


# -- nodes -----------------------------------------------------------------------------------------


def _owners(fused: Fused) -> dict[fx.Node, int]:
    """The step of each node."""
    found: dict[fx.Node, int] = {}
    for at, step in enumerate(fused.steps):
        for node in _members(step):
            found.setdefault(node, at)
    return found


def _members(step: KernelStep | CallStep) -> Sequence[fx.Node]:
    return list(step.region.members) if isinstance(step, KernelStep) else [step.node]


def _is_shown(node: fx.Node) -> bool:
    return node.op != "output" and not is_reference(node)


def _nodes(
    graph: Compiled,
    names: Mapping[fx.Node, str],
    index: Mapping[fx.Node, int],
    owners: Mapping[fx.Node, int],
    sources: Sources,
) -> tuple[Node, ...]:
    inputs = {spec.name: spec.kind for spec in graph.fused.program.signature.inputs}
    return tuple(
        Node(
            name=names[node],
            kind=_NODE_KINDS.get(node.op, "call"),
            op=inputs.get(node.name, "") if node.op == "placeholder" else _op(node),
            user_op=user_op(node) if node.op == "call_function" else "",
            type=_cut(value_type(node.meta.get("val"))),
            inputs=tuple(index[each] for each in node.all_input_nodes if each in index),
            step=owners.get(node, -1),
            stack=sources.stack_of(node),
            module=module_path(node),
        )
        for node in index
    )


def _op(node: fx.Node) -> str:
    return target_name(node.target) if node.op == "call_function" else str(node.target)


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TYPE else f"{text[:MOST_TYPE]}…"


# -- steps -----------------------------------------------------------------------------------------


class _Steps:
    """Turns the steps of one graph into records."""

    def __init__(
        self,
        graph: Compiled,
        ms: Sequence[float],
        hints: Hints,
        kernels: Mapping[str, int],
        index: Mapping[fx.Node, int],
    ):
        self._graph, self._ms, self._hints = graph, ms, hints
        self._kernels, self._index = kernels, index
        self._native = native_steps(graph)
        self._launches: dict[int, list[Launch]] = {}
        self._covered: dict[int, int] = {}
        """The step that computes another, by that other's number."""
        for op in walk(graph.plan.ops) if graph.plan is not None else ():
            if isinstance(op, Launch) and op.step[0] == graph.version:
                own = op.step[1]
                self._launches.setdefault(own, []).append(op)
                self._covered |= {k: own for of, k in op.covers if of == graph.version and k != own}

    def step(self, at: int) -> Step:
        steps = self._graph.fused.steps
        step = steps[at]
        within = -1 if at in self._launches else self._covered.get(at, -1)
        described = self._region(at, step) if isinstance(step, KernelStep) else self._call(at, step)
        launches = self._launches.get(at, [])
        members = _members(step)
        parts = self._parts(at)
        return replace(
            described,
            kind=self._kind(at, described.kind),
            ops=tuple(dict.fromkeys(op for k in parts for op in self._ops(k))),
            nodes=tuple(self._index[node] for node in members if node in self._index),
            kernels=tuple(dict.fromkeys(k for each in launches for k in self._called(each))),
            modules=module_paths(node for k in parts for node in _members(steps[k])),
            ms=self._ms[at],
            bytes=None if within >= 0 else self._bytes(at, launches),
            flops=None if within >= 0 else total(self._flops(k) for k in parts),
            within=within,
        )

    def _parts(self, at: int) -> list[int]:
        """The steps that its launches compute, itself included: a matmul and its epilogues."""
        return sorted({at, *(k for k, own in self._covered.items() if own == at)})

    def _kind(self, at: int, kind: str) -> str:
        """An epilogue has the launch of its matmul."""
        is_part = kind == "kernel" and any(self._native.get(k) for k in self._parts(at))
        return "native" if is_part else kind

    def _ops(self, at: int) -> tuple[str, ...]:
        return user_ops(_members(self._graph.fused.steps[at]))

    def _region(self, at: int, step: KernelStep) -> Step:
        region, native = step.region, self._graph.native
        failed = native is not None and region not in native.by_region
        reason = ""
        if native is not None and failed:
            reason = native.failures.get(region, "its kernel was not built").splitlines()[0]
        kind = "fallback" if failed else "kernel"
        return _plain_step(step.name, kind, reason, domain_text(region))

    def _call(self, at: int, step: CallStep) -> Step:
        native = self._native.get(at)
        kind = native or step.kind
        reason = "" if native or kind == "view" else why_left(self._graph, step)
        return _plain_step(step.name, kind, reason, "")

    def _called(self, launch: Launch) -> Sequence[int]:
        names = [launch.kernel, *(a.kernel for a in launch.arguments if isinstance(a, Function))]
        return [self._kernels[name] for name in names if name in self._kernels]

    def _bytes(self, at: int, launches: Sequence[Launch]) -> int | None:
        step = self._graph.fused.steps[at]
        if isinstance(step, KernelStep) and len(self._parts(at)) == 1:
            kernel = self._kernel(step)
            return None if kernel is None else kernel_bytes(kernel, self._hints)
        if launches:
            return total(launch_bytes(each, self._hints) for each in launches)
        if isinstance(step, KernelStep) or step.kind == "view" or step.bodies:
            return None
        return node_bytes(step.node, self._hints)

    def _kernel(self, step: KernelStep) -> CompiledKernel | None:
        native = self._graph.native
        return None if native is None else native.by_region.get(step.region)

    def _flops(self, at: int) -> int | None:
        step = self._graph.fused.steps[at]
        if isinstance(step, KernelStep):
            return region_flops(step.region, self._hints)
        return 0 if step.kind == "view" else node_flops(step.node, self._hints)


def _plain_step(name: str, kind: str, reason: str, domain: str) -> Step:
    return Step(name, kind, (), (), (), reason, domain, (), 0.0, None, None, -1)


# -- memory and journals ---------------------------------------------------------------------------


def _arena(plan: Plan, version: int, hints: Hints) -> Arena | None:
    buffers = [b for b in plan.buffers if b.kind is Kind.ARENA and b.lifetime is not None]
    layout = ArenaLayout(plan)
    values = [number(symbol, hints) for symbol in layout.symbols()]
    if not buffers or None in values:
        return None
    offsets, size = layout.bound(tuple(value for value in values if value is not None))
    steps = position_steps(plan, version)
    made = writers(plan, steps)
    return Arena(
        size,
        tuple(own[0] if own else -1 for own in steps),
        tuple(
            ArenaBuffer(
                name=buffer.name,
                type=_cut(type_text(buffer.dtype, buffer.shape, buffer.strides)),
                offset=offsets[buffer.name],
                bytes=number(buffer.nbytes, hints) or 0,
                first=buffer.lifetime[0] if buffer.lifetime else 0,
                last=buffer.lifetime[1] if buffer.lifetime else 0,
                step=made.get(buffer.name, -1),
            )
            for buffer in buffers
        ),
    )


def _memory(graph: Compiled, plan: Plan, arena: Arena | None, hints: Hints) -> dict[str, int]:
    """Bytes by kind of buffer. Values share the arena; the plan does not know the size of what
    recipes make."""
    found = bytes_by_kind(plan.buffers, hints)
    if arena is not None:
        found[Kind.ARENA.value] = arena.bytes
    if graph.prepared:
        found |= {"packed": sum(each.bytes() for each in graph.prepared)}
    return found


def _passes(stage: str, journal: Any) -> tuple[Pass, ...]:
    return tuple(
        Pass(
            stage,
            f"{entry.within}: {entry.name}" if entry.within else entry.name,
            entry.ms,
            entry.nodes_before,
            entry.nodes_after,
            entry.notes,
        )
        for entry in journal.entries
    )
