"""Results that AOTAutograd regenerates from an input, as views of that input. It takes their sizes,
strides and offset from the result that the graph returns. If the input is written, the graph
returns a view of the written value, a tensor of its own that starts at offset 0 and may be dense
where the input has gaps.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import fx
from torch._functorch._aot_autograd.schemas import (
    OutputType,
    SubclassCreationMeta,
    ViewAndMutationMeta,
)
from torch._guards import TracingContext
from torch.fx import Node

from ingot.program.graph import output_node, output_values, placeholders, view_chain
from ingot.program.shared_views import Shared, viewed

aten = torch.ops.aten


def return_input_views(gm: fx.GraphModule) -> None:
    """Change the results of AOTAutograd's forward graph that are views of a written value."""
    context = TracingContext.try_get()
    meta = context.fw_metadata if context is not None else None
    if meta is None or _has_subclasses(meta):
        return
    graph, inputs = gm.graph, placeholders(gm.graph)[len(meta.tokens) :]
    values, first = [*output_values(graph)], len(meta.tokens)
    written = _written_values(graph, inputs, values[first:], meta)
    first += len(meta.mutated_inp_runtime_indices)
    with graph.inserting_before(_first_write(graph, inputs)):
        for k, info in enumerate(meta.output_info, start=first):
            base = info.base_idx if info.output_type is OutputType.alias_of_input else None
            if base is None or base not in written:
                continue
            shared = _shared(values[k], inputs[base], written[base])
            values[k] = (shared and viewed(graph, inputs[base], shared)) or values[k]
    output_node(graph).args = (tuple(values),)
    gm.recompile()


def _has_subclasses(meta: ViewAndMutationMeta) -> bool:
    described = (*meta.subclass_inp_meta, *meta.subclass_fw_graph_out_meta)
    return any(isinstance(m, SubclassCreationMeta) for m in described)


def _written_values(
    graph: fx.Graph, inputs: list[Node], values: list[Node], meta: ViewAndMutationMeta
) -> Mapping[int, Node]:
    """The last value of each input that is written, by the graph or by AOTAutograd."""
    found = dict(zip(meta.mutated_inp_runtime_indices, values))
    index = {node: i for i, node in enumerate(inputs)}
    for node in graph.find_nodes(op="call_function", target=aten.copy_.default):
        if node.args[0] in index:
            found[index[node.args[0]]] = node.args[1]
    return found


def _first_write(graph: fx.Graph, inputs: list[Node]) -> Node:
    """Later readers of an input would read its new value."""
    for node in graph.find_nodes(op="call_function", target=aten.copy_.default):
        if node.args[0] in inputs:
            return node
    return output_node(graph)


def _shared(result: Node, source: Node, written: Node) -> Shared | None:
    """None if the result is not made from the written value by views alone."""
    views: list[Node] = []
    for node in view_chain(result):
        if node is written:
            return Shared(source.name, tuple(reversed(views)))
        views.append(node)
    return None
