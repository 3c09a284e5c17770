"""Finds the mutated inputs that a step may write directly. The input's old value must be dead by
then: every other step that reads it comes before. A kernel reads each element only in the iteration
that writes it, and cannot stop half-way with an error. A call has an in-place form, as eager calls
it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from ingot.codegen.loops.kernels import Kernels
from ingot.fuse.fused import CallStep, Fused, KernelStep
from ingot.fuse.region import Region
from ingot.fuse.views import is_view
from ingot.ops.rules import pointwise_rules
from ingot.program.graph import is_item, memory_root, output_values, placeholders
from ingot.program.shapes import shape_of, strides_of, tensor_of

aten = torch.ops.aten
WRITING: dict[Any, Any] = {
    aten.index_copy.default: aten.index_copy_.default,
    aten.index_put.default: aten.index_put_.default,
    aten.index_add.default: aten.index_add_.default,
    aten.scatter.src: aten.scatter_.src,
    aten.scatter.value: aten.scatter_.value,
    aten.scatter_add.default: aten.scatter_add_.default,
}
"""Calls that copy their first argument and change part of it, and their in-place forms."""


def written_in_place(fused: Fused, kernels: Kernels) -> dict[fx.Node, fx.Node]:
    """Maps stored nodes to the inputs whose memory they take."""
    graph = fused.program.graph
    inputs = [n for n in graph.nodes if n.op == "placeholder"]
    output = next(iter(reversed(graph.nodes)))
    outputs = list(output.args[0])
    result: dict[fx.Node, fx.Node] = {}
    for spec, value in zip(fused.program.signature.outputs, outputs, strict=True):
        if spec.kind != "mutation" or spec.target is None or not isinstance(value, fx.Node):
            continue
        target = inputs[spec.target]
        if (
            _results_in(value, outputs) == 1  # it is no result's memory
            and _same_layout(value, target)
            and _old_value_dies(fused, kernels, value, target)
        ):
            result[value] = target
    return result


def _results_in(value: fx.Node, outputs: list[Any]) -> int:
    """The outputs that are the value or views of it."""
    return sum(memory_root(o) is value for o in outputs if isinstance(o, fx.Node))


def _same_layout(a: fx.Node, b: fx.Node) -> bool:
    same_kind = tensor_of(a).dtype is tensor_of(b).dtype
    return (
        same_kind
        and shape_of(a) == shape_of(b)
        and strides_of(a) == strides_of(b)
        and _no_overlap(b)
    )


def _no_overlap(node: fx.Node) -> bool:
    return all(
        stride != 0 or size == 1
        for size, stride in zip(shape_of(node), strides_of(node), strict=True)
    )


def _old_value_dies(fused: Fused, kernels: Kernels, value: fx.Node, target: fx.Node) -> bool:
    writer = next((k for k, s in enumerate(fused.steps) if _makes(s, value)), None)
    if writer is None or _aliased(target):
        return False
    step = fused.steps[writer]
    if isinstance(step, CallStep) and is_item(value):
        fits = _in_place_in_bodies(fused, kernels, value, target)
    elif isinstance(step, CallStep):
        fits = value.target in WRITING and _writes_only(value, target)
    else:
        fits = step.region in kernels.by_region and _reads_in_step(step.region, value, target)
    return fits and not any(_reads(s, target) for s in fused.steps[writer + 1 :])


def _in_place_in_bodies(fused: Fused, kernels: Kernels, item: fx.Node, target: fx.Node) -> bool:
    """Does every version that a branch selects from write the item to the input's memory?"""
    call, number = item.args
    bodies = [body for s in fused.steps if isinstance(s, CallStep) and s.node is call
              for body in s.bodies]  # fmt: skip
    place = placeholders(fused.program.graph).index(target)
    for body in bodies:
        if body.program.signature != fused.program.signature:
            return False
        value = output_values(body.program.graph)[number]  # type: ignore[index]
        inside = written_in_place(body, kernels)
        if inside.get(value) is not placeholders(body.program.graph)[place]:
            return False
    return bool(bodies)


def _writes_only(call: fx.Node, target: fx.Node) -> bool:
    """Is the target the first argument, and no other?"""
    others: list[fx.Node] = []
    fx.node.map_arg((call.args[1:], call.kwargs), others.append)
    return call.args[0] is target and not any(memory_root(other) is target for other in others)


def _makes(step: KernelStep | CallStep, value: fx.Node) -> bool:
    return step.node is value if isinstance(step, CallStep) else value in step.region.stored


def _aliased(target: fx.Node) -> bool:
    """Is there a view of it that a call may keep? A result in its memory shows the new value."""
    return any(_reaches_call(u) for u in target.users if is_view(u))


def _reaches_call(view: fx.Node) -> bool:
    return any(
        _reaches_call(u) if is_view(u) else u.op != "output" and u.target not in pointwise_rules
        for u in view.users
    )


def _reads_in_step(region: Region, value: fx.Node, target: fx.Node) -> bool:
    """Does the region read the input only where it writes it?"""
    if region.reduced or any(rule_checks(n) for n in region.members):
        return False
    point = region.members[value]
    return all(at == point for node, at in region.reads if node is target)


def rule_checks(node: fx.Node) -> bool:
    rule = pointwise_rules.get(node.target)  # type: ignore[call-overload]
    return rule is None or rule.checks is not None


def _reads(step: KernelStep | CallStep, node: fx.Node) -> bool:
    if isinstance(step, CallStep):
        return node in step.node.all_input_nodes
    return any(read is node for read, _ in step.region.reads)
