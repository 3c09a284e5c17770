"""Questions about a torch.fx graph that every stage asks: its inputs and outputs, which values
share memory, which FakeTensorMode it was traced in. Nothing here changes a graph it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx._lazy_graph_module import _LazyGraphModule


def copy_module(gm: GraphModule) -> GraphModule:
    """A module of its own around a copy of the graph; tensors and submodules are shared. Its Python
    code is made only when someone calls it."""
    graph = Graph()
    copies: dict[Node, Node] = {}
    made = graph.output(graph.graph_copy(gm.graph, copies))
    made.meta = dict(output_node(gm.graph).meta)
    return _LazyGraphModule(gm, graph, class_name="Program")


def output_node(graph: Graph) -> Node:
    return next(iter(reversed(graph.nodes)))


def output_values(graph: Graph) -> Sequence[Any]:
    """The elements of the output tuple: nodes, numbers and None."""
    (values,) = output_node(graph).args
    return values if isinstance(values, tuple | list) else (values,)


def placeholders(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes if node.op == "placeholder"]


def is_view(node: Node) -> bool:
    """The op's result may share memory with its first argument."""
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return False
    arguments = node.target._schema.arguments
    if not arguments:
        return False
    alias = arguments[0].alias_info
    return alias is not None and not alias.is_write


def memory_root(node: Node) -> Node:
    """The node whose memory `node` is a view of; itself if it has its own."""
    while True:
        source = node.args[0] if node.args else None
        if not isinstance(source, Node):
            return node
        if not is_view(node) and not (is_item(node) and is_view(source)):
            return node
        node = source


def is_item(node: Node) -> bool:
    return node.op == "call_function" and getattr(node.target, "__name__", "") == "getitem"


def fake_mode(graph: Graph) -> Any:
    """The FakeTensorMode the graph was traced in, if any of its values tells."""
    for node in graph.nodes:
        val = node.meta.get("val")
        if (mode := getattr(val, "fake_mode", None)) is not None:
            return mode
    return None
