"""How long each tensor of a plan is needed. Comes in: the steps, and who runs each; goes out: for a
step's number the tensors that nobody needs after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import fx

from ingot.execute.fallback import region_inputs
from ingot.fuse.fused import CallStep, Step
from ingot.program.graph import output_node

if TYPE_CHECKING:
    from ingot.execute.runner import RunnerWriter


def last_uses(writer: RunnerWriter) -> dict[int, list[fx.Node]]:
    last: dict[fx.Node, int] = {}
    for number, step in enumerate(writer.fused.steps):
        made = [step.node] if isinstance(step, CallStep) else list(step.region.stored)
        for node in [*made, *uses(writer, step)]:
            root = writer.places.of(node).root if _is_tensor(node) else node
            assert isinstance(root, fx.Node)
            last[root] = last[node] = number
    for node in _kept(writer):
        last.pop(node, None)
    grouped: dict[int, list[fx.Node]] = {}
    for node, number in last.items():
        if node.op != "get_attr" and not _is_number(node):
            grouped.setdefault(number, []).append(node)
    return grouped


def uses(writer: RunnerWriter, step: Step) -> list[fx.Node]:
    """What the step reads."""
    if step in writer.roles.products:
        return [n for product in writer.roles.products[step] for n in product.reads()]
    if isinstance(step, CallStep):
        return list(step.node.all_input_nodes)
    region = step.region
    kernel = writer.kernels.by_region.get(region)
    if kernel is None:
        return region_inputs(region)
    more = writer.followers[region].product.reads() if region in writer.followers else []
    return [*more, *(b for b in kernel.buffers if b not in region.stored)]


def _kept(writer: RunnerWriter) -> list[fx.Node]:
    """What is there when the program ends: its results and the inputs it writes."""
    program = writer.fused.program
    written = [s.target for s in program.signature.outputs if s.target is not None]
    results = output_node(program.graph).all_input_nodes
    return [*results, *(writer.roles.inputs[target] for target in written)]


def _is_tensor(node: fx.Node) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)


def _is_number(node: fx.Node) -> bool:
    """A size or scalar: it costs nothing to keep, and sizes of later buffers may be made of it."""
    return isinstance(
        node.meta.get("val"), torch.SymInt | torch.SymFloat | torch.SymBool | int | float
    )
