"""Launches of generated kernels: regions by themselves, and epilogues of matmuls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import fx

from ingot.codegen.jit.code_store import text_digest
from ingot.codegen.loops.kernels import CompiledKernel
from ingot.dispatch.threads import kernel_work
from ingot.errors import Place
from ingot.fuse.elements import looks_up
from ingot.fuse.region import Region
from ingot.fuse.views import base_of, is_view
from ingot.kernels.choose_variants import choose_variants, note_variants
from ingot.kernels.family import useful_threads
from ingot.kernels.matmul.family import FusedEpilogue, Member
from ingot.ops.rules import pointwise_rules
from ingot.plan.draft import PlanDraft
from ingot.plan.ir import LOOPS, Argument, Launch, Op, Parameter
from ingot.program.shapes import tensor_of
from ingot.program.source import node_place
from ingot.select.fuse_epilogues import Epilogue
from ingot.select.reductions import length_of, reduction_table


def region_launch(region: Region, kernel: CompiledKernel, draft: PlanDraft) -> list[Op]:
    for node in region.stored:
        draft.make(node)
    if not region.needs_split:
        return [_launch(kernel, draft)]
    table = reduction_table(draft.variants, region, draft.ranges)
    name = f"{', '.join(node.name for node in region.stored)} (reduction)"
    whole = kernel.whole
    if whole is None:  # only one variant was built
        note_variants(name, draft.decisions, table)
        return [_launch(kernel, draft)]
    makers: dict[str, Callable[[], list[Op]]] = {
        "split": lambda: [_launch(kernel, draft)],
        "whole": lambda: [_launch(whole, draft)],
    }
    return choose_variants(name, draft.decisions, table, length_of(region), makers)


def with_epilogue(epilogue: Epilogue, kernel: CompiledKernel, draft: PlanDraft) -> Member:
    """A matmul and its epilogue, after giving memory to both."""
    region, matmul = epilogue.region, epilogue.matmul
    for node in region.stored:
        draft.make(node)
    if epilogue.over is None:
        draft.make(matmul.node)
    else:
        place = draft.place(epilogue.over)
        assert place is not None
        draft.put(matmul.node, place)
    name, arguments = _called(kernel, draft)
    fused = FusedEpilogue(
        name, arguments, draft.kernels[name].parameters, tuple(region.stored),
        tuple(native_nodes(region)), kernel.buffers, epilogue.over is None and not epilogue.alone,
    )  # fmt: skip
    return matmul, fused


def native_nodes(region: Region) -> dict[fx.Node, None]:
    """The ops that a region's code computes, and the views that it reads through."""
    found = dict.fromkeys([*region.members, *(node for node, _ in region.inlined)])
    reads = [n for node in list(found) for n in node.all_input_nodes]
    while reads:
        node = reads.pop()
        if node not in found and is_view(node):
            found[node] = None
            reads.append(base_of(node))
    return found


def _launch(kernel: CompiledKernel, draft: PlanDraft) -> Launch:
    region = kernel.region
    name, arguments = _called(kernel, draft)
    threads = None
    if kernel.share:
        threads = useful_threads(kernel.work, kernel_work(draft.variants))
    members = [*region.members, *(node for node, _ in region.inlined)]
    computes = draft.computes(list(region.stored), members, kernel.buffers)
    return draft.launch(name, arguments, computes, threads=threads, faults=_faults(region))


def _called(kernel: CompiledKernel, draft: PlanDraft) -> tuple[str, tuple[Argument, ...]]:
    arguments: list[Argument] = [draft.pointer(node) for node in kernel.buffers]
    stored = kernel.region.stored
    parameters = [
        Parameter(f"b{k}", "w" if node in stored else "r", tensor_of(node).dtype)
        for k, node in enumerate(kernel.buffers)
    ]
    parameters += [Parameter(f"n{k}") for k in range(len(kernel.symbols))]
    name = draft.kernel(
        LOOPS, kernel.address, parameters, kernel.share, kernel.code, text_digest(kernel.text)
    )
    return name, (*arguments, *kernel.symbols)


def _faults(region: Region) -> tuple[tuple[str, Place], ...]:
    """The source lines of the ops that can fail."""
    found: dict[tuple[str, Place], None] = {}
    for node in (*region.members, *(node for node, _ in region.inlined)):
        for fault, can_fail in (("division", _divides), ("lookup", looks_up)):
            place = node_place(node) if can_fail(node) else None
            if place is not None:
                found[fault, place] = None
    return tuple(found)


def _divides(node: fx.Node) -> bool:
    target: Any = node.target
    return target in pointwise_rules and pointwise_rules[target].checks is not None
