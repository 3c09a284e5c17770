"""Fuse the bodies of control flow (cond, while_loop, scan, map) like programs of their own. Each
output of a body is a value of its own, in the layout of the result that it becomes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from ingot.fuse.fused import Fused
from ingot.fuse.views import is_view
from ingot.options import Options
from ingot.passes.base import run_passes
from ingot.passes.native import native_passes
from ingot.program.graph import output_node, placeholders, same_numbers
from ingot.program.higher_order import Control, control_of
from ingot.program.program import Program, program_from_fx

aten = torch.ops.aten


def fused_bodies(
    node: fx.Node,
    control: Control,
    program: Program,
    options: Options,
    fuse: Callable[[Program, Options], Fused],
) -> tuple[Fused, ...]:
    """The bodies, each lowered by the passes and fused."""
    frozen = program.frozen_inputs()
    static = [i for i, operand in enumerate(control.operands()) if operand in frozen]
    fused = []
    for number, body in enumerate(control.bodies):
        module = operator.attrgetter(str(body.target))(program.graph_module)
        inner = program_from_fx(module, static_input_indices=static)
        lowered = run_passes(inner, native_passes(inner), verify=options.verify)
        own_outputs(lowered.graph, _layouts(node, control, number, lowered))
        fused.append(fuse(lowered, options))
    return tuple(fused)


def _layouts(node: fx.Node, control: Control, number: int, body: Program) -> list[Any]:
    """For each output of a body, the strides required of it; None if any will do."""
    results = list(node.meta["val"])
    if control.kind == "branch":
        return [_strides(value) for value in results]
    if control.kind == "loop" and number == 0:
        return [None]
    carried = [p.meta["val"] for p in placeholders(body.graph)[: len(control.carried)]]
    stacked = [_strides(value) for value in results[len(control.carried) :]]
    return [*map(_strides, carried), *(s and s[1:] for s in stacked)]


def _strides(value: Any) -> tuple[Any, ...] | None:
    is_plain = isinstance(value, torch.Tensor) and value.layout is torch.strided
    return tuple(value.stride()) if is_plain else None


def own_outputs(graph: fx.Graph, layouts: list[Any]) -> None:
    """Copy each output that is an input, a view, another output or in another layout."""
    end = output_node(graph)
    (values,) = end.args
    alone = not isinstance(values, list | tuple)
    outputs: list[Any] = [values] if alone else list(values)  # type: ignore[arg-type]
    for k, (value, strides) in enumerate(zip(outputs, layouts, strict=True)):
        given = _strides(value.meta.get("val")) if isinstance(value, fx.Node) else None
        if given is None:
            continue
        wanted = given if strides is None else strides
        if _is_own(value) and value not in outputs[:k] and same_numbers(given, wanted):
            continue
        with graph.inserting_before(end):
            copy = graph.call_function(aten.clone.default, (value,))
        fake = value.meta["val"]
        copy.meta = {**value.meta, "val": fake.new_empty_strided(fake.shape, wanted)}
        outputs[k] = copy
    end.args = (outputs[0] if alone else tuple(outputs),)


def _is_own(value: fx.Node) -> bool:
    if value.op != "call_function" or is_view(value):
        return False
    is_part = value.target is operator.getitem
    return not is_part or control_of(value.args[0]) is not None  # type: ignore[arg-type]
