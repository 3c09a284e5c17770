"""Turn writes to inputs into outputs. AOTAutograd leaves them as `copy_(placeholder, value)` nodes;
the written values become outputs after the user's, each with exactly its input's dtype and shape.
Later readers of the input read the value. An output that is the written input itself stays that
input, so it still shares its memory. Other writes are left in place.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch.fx import Graph, Node

from ingot.program.graph import output_node, output_values, placeholders, same_numbers

aten = torch.ops.aten


def lift_mutations(graph: Graph) -> list[int]:
    """Turn `copy_(placeholder, value)` into outputs; returns the index of the input that each of
    them overwrites."""
    inputs = placeholders(graph)
    index = {node: i for i, node in enumerate(inputs)}
    written: dict[Node, Node] = {}
    for node in list(graph.nodes):
        if node.op == "output":
            continue
        if written and node.op == "call_function":
            for old, new in written.items():
                if old in node.all_input_nodes and not _writes_to(node, old):
                    node.replace_input_with(old, new)
        if not _is_input_copy(node, index):
            continue
        target, value = node.args[0], node.args[1]
        written.pop(target, None)  # the order of the outputs is the order of the last writes
        with graph.inserting_before(node):
            written[target] = _as_stored(graph, target, value)
        _drop_copy(graph, node, target, written[target])
    output = output_node(graph)
    values = (*output_values(graph), *written.values())
    output.args = (values,)
    return [index[target] for target in written]


def _is_input_copy(node: Node, index: Mapping[Node, int]) -> bool:
    return (
        node.target is aten.copy_.default
        and node.args[0] in index
        and isinstance(node.args[1], Node)
        and isinstance(node.args[0].meta.get("val"), torch.Tensor)  # type: ignore[union-attr]
    )


def _writes_to(node: Node, target: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return bool(schema and schema.is_mutable and node.args and node.args[0] is target)


def _as_stored(graph: Graph, target: Node, value: Node) -> Node:
    """`value` with exactly the dtype and shape of the input it is written to."""
    wanted, given = target.meta["val"], value.meta["val"]
    if given.dtype != wanted.dtype:
        made = graph.call_function(aten._to_copy.default, (value,), {"dtype": wanted.dtype})
        made.meta = {**value.meta, "val": aten._to_copy.default(given, dtype=wanted.dtype)}
        value = made
    if not same_numbers(given.shape, wanted.shape):
        sizes = [_size(graph, target, dim) for dim in range(wanted.dim())]
        made = graph.call_function(aten.expand.default, (value, sizes))
        made.meta = {**value.meta, "val": value.meta["val"].expand(wanted.shape)}
        value = made
    return value


def _size(graph: Graph, tensor: Node, dim: int) -> int | Node:
    size = tensor.meta["val"].shape[dim]
    if isinstance(size, int):
        return size
    node = graph.call_function(aten.sym_size.int, (tensor, dim))
    node.meta["val"] = size
    return node


def _drop_copy(graph: Graph, node: Node, target: Node, value: Node) -> None:
    """Readers of the copy's result read the new value; an output that is the written input stays
    that input."""
    for user in list(node.users):
        user.replace_input_with(node, target if user.op == "output" else value)
    graph.erase_node(node)
