"""Epilogue fusion: finds the regions that can run on a matmul's result block by block, and moves
each of these matmuls to its region and next to matmuls of the same input. Only the region reads the
matmul before it is complete, and it changes no memory that the matmul reads. A region for which no
code can be generated stays a step of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from torch import fx

from ingot.codegen.epilogue import EpilogueNest, epilogue_nest, same_memory
from ingot.errors import UnsupportedError
from ingot.fuse.fused import CallStep, Fused, KernelStep, Step
from ingot.fuse.region import Region
from ingot.fuse.views import base_of, is_view
from ingot.kernels.matmul.claim import Matmul, matmul_of
from ingot.ops.kernel_shapes import matmul_shape
from ingot.plan.derived import is_derived
from ingot.program.graph import output_values
from ingot.program.shapes import tensor_of
from ingot.select.reorder import Unit, made_adjacent


@dataclass(frozen=True)
class Epilogue:
    call: CallStep
    matmul: Matmul
    region: Region
    code: EpilogueNest
    over: fx.Node | None
    """The stored value that reuses the matmul's memory."""
    alone: bool
    """Is the region the only reader of the matmul?"""


def fuse_epilogues(fused: Fused) -> tuple[Fused, dict[Region, Epilogue]]:
    """Includes the bodies of control flow."""
    found: dict[Region, Epilogue] = {}
    steps: list[Step] = []
    for step in fused.steps:
        if isinstance(step, CallStep) and step.bodies:
            bodies = []
            for body in step.bodies:
                inner, more = fuse_epilogues(body)
                found |= more
                bodies.append(inner)
            step = replace(step, bodies=tuple(bodies))
        steps.append(step)
    fused = replace(fused, steps=tuple(steps))
    matmuls = _products(fused)
    pairs = _pairs(fused, matmuls)
    found |= pairs
    calls = {epilogue.call for epilogue in pairs.values()}
    units: list[Unit] = []
    for step in steps:
        if isinstance(step, KernelStep) and step.region in pairs:
            units.append((pairs[step.region].call, step))
        elif step not in calls:
            units.append((step,))
    ordered = [step for unit in made_adjacent(units, matmuls) for step in unit]
    return replace(fused, steps=tuple(ordered)), found


def _products(fused: Fused) -> dict[Step, Matmul]:
    """The calls that compute a matmul."""
    lasting = fused.program.frozen_inputs()
    lasting |= {node for node in fused.program.graph.nodes if is_derived(node)}
    calls = [step for step in fused.steps if isinstance(step, CallStep)]
    found = {step: matmul_of(step.node, lasting) for step in calls}
    return {step: matmul for step, matmul in found.items() if isinstance(matmul, Matmul)}


def _pairs(fused: Fused, matmuls: Mapping[Step, Matmul]) -> dict[Region, Epilogue]:
    outputs = list(output_values(fused.program.graph))
    signature = fused.program.signature.outputs
    written = {v for s, v in zip(signature, outputs, strict=True) if s.kind == "mutation"}
    returned = set(map(_base, outputs))
    readers = _readers(fused)
    pairs: dict[Region, Epilogue] = {}
    for step, matmul in matmuls.items():
        assert isinstance(step, CallStep)
        if step.node not in readers:
            continue
        first, *others = readers[step.node]
        if not isinstance(first, KernelStep) or first.region in pairs:
            continue
        if written & first.region.stored.keys():
            continue
        alone = not others and step.node not in returned
        epilogue = _epilogue(step, matmul, first.region, alone)
        if epilogue is not None:
            pairs[first.region] = epilogue
    return pairs


def _epilogue(step: CallStep, matmul: Matmul, region: Region, alone: bool) -> Epilogue | None:
    if region.reduced or region.scanned or region.needs_split:
        return None
    m, n, _ = matmul.sizes
    try:
        nest = epilogue_nest(region, step.node, (m, n), matmul.row_strides[1])
    except UnsupportedError:
        return None
    lanes = matmul_shape(tensor_of(step.node).dtype).columns
    over = same_memory(nest, step.node) if alone else None
    return Epilogue(step, matmul, region, EpilogueNest(step.node, nest, lanes), over, alone)


def _readers(fused: Fused) -> dict[object, list[Step]]:
    """The steps that read each value, in order."""
    found: dict[object, list[Step]] = {}
    for step in fused.steps:
        if isinstance(step, KernelStep):
            read = [node for node, _ in step.region.reads]
        else:
            read = step.node.all_input_nodes
        for node in dict.fromkeys(map(_base, read)):
            found.setdefault(node, []).append(step)
    return found


def _base(node: object) -> object:
    """The node that owns the memory that `node` is a view of."""
    while isinstance(node, fx.Node) and is_view(node):
        node = base_of(node)
    return node
