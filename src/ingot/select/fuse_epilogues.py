"""Epilogue fusion: finds the regions that can run on a matmul's result block by block, and moves
each of these matmuls to its region and next to matmuls of the same input. Only the region reads the
matmul before it is complete, and it changes no memory that the matmul reads. A region for which no
code can be generated stays a step of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from torch import fx

from ingot.codegen.loops.epilogue import EpilogueNest, epilogue_nest, same_memory
from ingot.codegen.loops.kernels import Kernels
from ingot.errors import UnsupportedError
from ingot.fuse.fused import CallStep, Fused, KernelStep, Step
from ingot.fuse.region import Region
from ingot.fuse.views import is_view
from ingot.kernels.matmul.claim import Matmul, matmul_of
from ingot.ops.kernel_shapes import matmul_shape
from ingot.plan.decisions import Decisions
from ingot.plan.derived import is_derived
from ingot.plan.passes.base import Notes
from ingot.program.graph import chain_root, output_values
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


def fuse_epilogues(
    fused: Fused, packs: bool, decisions: Decisions
) -> tuple[Fused, dict[Region, Epilogue]]:
    """Includes the bodies of control flow. `packs`: whether weights may be packed."""
    if packs:
        return _fused(fused, decisions)
    decisions.fuse_epilogues.add("no epilogues: the option variants has matmul=library")
    return fused, {}


def _fused(fused: Fused, decisions: Decisions) -> tuple[Fused, dict[Region, Epilogue]]:
    found: dict[Region, Epilogue] = {}
    steps: list[Step] = []
    for step in fused.steps:
        if isinstance(step, CallStep) and step.bodies:
            bodies = []
            for body in step.bodies:
                inner, more = _fused(body, decisions)
                found |= more
                bodies.append(inner)
            step = replace(step, bodies=tuple(bodies))
        steps.append(step)
    fused = replace(fused, steps=tuple(steps))
    matmuls = _matmuls(fused)
    pairs = _pairs(fused, matmuls, decisions.fuse_epilogues)
    found |= pairs
    calls = {epilogue.call for epilogue in pairs.values()}
    units: list[Unit] = []
    for step in steps:
        if isinstance(step, KernelStep) and step.region in pairs:
            units.append((pairs[step.region].call, step))
        elif step not in calls:
            units.append((step,))
    adjacent = made_adjacent(units, matmuls, decisions.fuse_horizontal)
    ordered = [step for unit in adjacent for step in unit]
    return replace(fused, steps=tuple(ordered)), found


def with_code(
    epilogues: Mapping[Region, Epilogue], kernels: Kernels, notes: Notes
) -> dict[Region, Epilogue]:
    """The epilogues for which code was generated."""
    for region, epilogue in epilogues.items():
        why = kernels.refused_epilogues.get(region) or kernels.failures.get(region)
        if why is not None:
            notes.add(f"{epilogue.call.name}: its epilogue became a step again: {why}")
    made = {region for region, kernel in kernels.by_region.items() if kernel.is_epilogue}
    return {region: epilogue for region, epilogue in epilogues.items() if region in made}


def _matmuls(fused: Fused) -> dict[Step, Matmul]:
    """The calls that compute a matmul."""
    frozen = fused.program.frozen_inputs()
    frozen |= {node for node in fused.program.graph.nodes if is_derived(node)}
    calls = [step for step in fused.steps if isinstance(step, CallStep)]
    found = {step: matmul_of(step.node, frozen) for step in calls}
    return {step: matmul for step, matmul in found.items() if isinstance(matmul, Matmul)}


def _pairs(fused: Fused, matmuls: Mapping[Step, Matmul], notes: Notes) -> dict[Region, Epilogue]:
    outputs = list(output_values(fused.program.graph))
    signature = fused.program.signature.outputs
    written = {v for s, v in zip(signature, outputs, strict=True) if s.kind == "mutation"}
    returned = set(map(_base, outputs))
    readers = _readers(fused)
    pairs: dict[Region, Epilogue] = {}
    for step, matmul in matmuls.items():
        assert isinstance(step, CallStep)
        if step.node not in readers:
            notes.add(f"{step.name}: no epilogue: no step reads it")
            continue
        first, *others = readers[step.node]
        alone = not others and step.node not in returned
        refusal = _why_not_step(first, pairs, written)
        found = refusal or _epilogue(step, matmul, first, alone)
        if isinstance(found, Epilogue):
            pairs[found.region] = found
            notes.add(f"{step.name}: epilogue {first.name}{_memory(found)}")
        else:
            notes.add(f"{step.name}: {first.name} is no epilogue: {found}")
    return pairs


def _why_not_step(
    reader: Step, pairs: Mapping[Region, Epilogue], written: set[object]
) -> str | None:
    """The reason against the first reader of a matmul as its epilogue."""
    if not isinstance(reader, KernelStep):
        return "it is a view" if reader.kind == "view" else "it is a call"
    if reader.region in pairs:
        return f"it is the epilogue of {pairs[reader.region].call.name}"
    if written & reader.region.stored.keys():
        return "it writes an input of the program"
    if reader.region.scanned:
        return "it scans"
    return "it reduces" if reader.region.reduced or reader.region.needs_split else None


def _epilogue(step: CallStep, matmul: Matmul, reader: Step, alone: bool) -> Epilogue | str:
    assert isinstance(reader, KernelStep)
    region = reader.region
    m, n, _ = matmul.sizes
    try:
        nest = epilogue_nest(region, step.node, (m, n), matmul.row_strides[1])
    except UnsupportedError as error:
        return f"it {error.why}"
    lanes = matmul_shape(tensor_of(step.node).dtype).columns
    over = same_memory(nest, step.node) if alone else None
    return Epilogue(step, matmul, region, EpilogueNest(step.node, nest, lanes), over, alone)


def _memory(epilogue: Epilogue) -> str:
    if epilogue.over is not None:
        return f", in the memory of {epilogue.over.name}"
    return ", in memory of its own" if epilogue.alone else ", and others read the matmul"


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
    return chain_root(node, is_view) if isinstance(node, fx.Node) else node
