"""A training step as one graph. Converts an ExportedProgram of a model that returns a loss to a
functional one that also returns the gradients of all parameters. Outputs other than the loss, and
the final values of attributes, pass no gradient. A parameter that the loss does not depend on gets
none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Node

from ingot.capture.attributes import REBOUND
from ingot.errors import CaptureError
from ingot.program.graph import output_node, output_values, placeholders

aten = torch.ops.aten


def with_gradients(exported: ExportedProgram, table: Mapping[Any, Any]) -> ExportedProgram:
    from torch.export.exported_program import _decompose_exported_program

    loss = _loss_index(exported)
    _rename_inputs(exported)
    _detach_others(exported, loss)
    _detach_kept(exported)
    _ask_no_gradient_of_the_unused(exported, loss)
    try:
        return _decompose_exported_program(
            exported,
            cia_to_decomp={},  # autograd decomposes composite ops itself
            python_decomp_table=dict(table),
            joint_loss_index=loss,
            decompose_custom_triton_ops=False,
        )
    except (AssertionError, RuntimeError) as error:
        raise CaptureError(f"no backward: {str(error).strip().splitlines()[0]}") from error


def _loss_index(exported: ExportedProgram) -> int:
    specs = exported.graph_signature.output_specs
    for i, (value, spec) in enumerate(zip(output_values(exported.graph), specs)):
        val = value.meta.get("val") if isinstance(value, Node) else None
        if (
            spec.kind is OutputKind.USER_OUTPUT
            and isinstance(val, torch.Tensor)
            and val.dtype.is_floating_point
            and val.dim() == 0
        ):
            return i
    raise CaptureError(
        "train=True needs a loss: no output is a single floating-point number",
        hints=["return the loss from the model, or wrap model and loss in one module"],
    )


def _rename_inputs(exported: ExportedProgram) -> None:
    """torch.export confuses a gradient with an input if the input has the name of an op (`t`)."""
    for node, spec in zip(placeholders(exported.graph), exported.graph_signature.input_specs):
        if spec.kind is InputKind.USER_INPUT:
            node._rename(f"input_{node.name}")
            node.target = spec.arg.name = node.name


def _detach_others(exported: ExportedProgram, loss: int) -> None:
    graph = exported.graph
    end = output_node(graph)
    values: list[Any] = list(output_values(graph))
    specs = exported.graph_signature.output_specs
    for i, value in enumerate(values):
        val = value.meta.get("val") if isinstance(value, Node) else None
        if i == loss or not isinstance(val, torch.Tensor) or not val.dtype.is_floating_point:
            continue
        with graph.inserting_before(end):
            values[i] = graph.call_function(aten.detach.default, (value,))
        values[i].meta = {**value.meta, "val": val.detach()}
        specs[i].arg.name = values[i].name
    end.args = (tuple(values),)
    exported.graph_module.recompile()


def _detach_kept(exported: ExportedProgram) -> None:
    """A tensor kept in an attribute for the next step has no history once this step is over."""
    for node in exported.graph.nodes:
        source = node.args[1] if REBOUND in node.meta else None
        if isinstance(source, Node):
            with exported.graph.inserting_before(node):
                plain = exported.graph.call_function(aten.detach.default, (source,))
            plain.meta = {**source.meta, "val": source.meta["val"].detach()}
            node.update_arg(1, plain)
    exported.graph_module.recompile()


def _ask_no_gradient_of_the_unused(exported: ExportedProgram, loss: int) -> None:
    needed: set[Node] = set()
    pending = [output_values(exported.graph)[loss]]
    while pending:
        node = pending.pop()
        if node not in needed:
            needed.add(node)
            pending.extend(node.all_input_nodes)
    for node in placeholders(exported.graph):
        val = node.meta.get("val")
        if isinstance(val, torch.Tensor) and val.requires_grad and node not in needed:
            node.meta["val"] = val.detach()
