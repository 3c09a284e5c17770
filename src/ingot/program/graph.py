"""Queries on torch.fx graphs that every stage needs: inputs and outputs, which values share memory,
the FakeTensorMode of the trace. Nothing here changes a given graph.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx._lazy_graph_module import _LazyGraphModule
from torch.fx.node import map_arg


def copy_module(gm: GraphModule) -> GraphModule:
    """A new module around a copy of the graph; tensors and submodules are shared. Its Python code
    is generated only on the first call."""
    return _LazyGraphModule(gm, copy_graph(gm.graph), class_name="Program")


def copy_graph(graph: Graph) -> Graph:
    """The same nodes under the same names. Graph.create_node looks for a fresh name and walks every
    argument, which takes most of the time of Graph.graph_copy; a copy needs neither."""
    made = Graph()
    names, lookup = made._graph_namespace, made._find_nodes_lookup_table
    names._used_names = set(graph._graph_namespace._used_names)
    names._base_count = dict(graph._graph_namespace._base_count)
    copies: dict[Node, Node] = {}
    for node in graph.nodes:
        args, kwargs = map_arg((node.args, node.kwargs), copies.__getitem__)
        copy = Node(made, node.name, node.op, node.target, args, kwargs, node.type)
        copy.meta = dict(node.meta)
        names._obj_to_name[copy] = node.name
        made._insert(copy)
        lookup.insert(copy)
        made._len += 1
        copies[node] = copy
    return made


def output_node(graph: Graph) -> Node:
    return next(iter(reversed(graph.nodes)))


def output_values(graph: Graph) -> Sequence[Any]:
    """The elements of the output tuple: nodes, scalars and None."""
    (values,) = output_node(graph).args
    return values if isinstance(values, tuple | list) else (values,)


def placeholders(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes if node.op == "placeholder"]


def is_inplace_view(node: Node) -> bool:
    """Whether it changes the geometry of its argument and no element, as `squeeze_` does."""
    target = node.target
    return isinstance(target, torch._ops.OpOverload) and torch.Tag.inplace_view in target.tags


def is_view(node: Node) -> bool:
    """Whether the op's result may share memory with its first argument."""
    return node.op == "call_function" and _is_view_target(node.target)


@cache
def _is_view_target(target: Any) -> bool:
    if target is torch.ops.aten._unsafe_view.default:  # its schema declares no alias
        return True
    if not isinstance(target, torch._ops.OpOverload) or not target._schema.arguments:
        return False
    alias = target._schema.arguments[0].alias_info
    return alias is not None and not alias.is_write


def shares_first_argument(node: Node) -> bool:
    """Whether the node's value may share memory with its first argument: it is a view, or an item
    of an op that returns several views."""
    source = node.args[0] if node.args else None
    if not isinstance(source, Node):
        return False
    return is_view(node) or (is_item(node) and is_view(source))


def returned_argument(node: Node) -> Node | None:
    """The argument that an op writes and returns: that of `add_`, and any `out=`."""
    call, k = (node.args[0], node.args[1]) if node.target is operator.getitem else (node, 0)
    schema = getattr(getattr(call, "target", None), "_schema", None)
    if not isinstance(call, Node) or not isinstance(k, int) or schema is None:
        return None
    if k >= len(schema.returns) or (call is node) != (len(schema.returns) == 1):
        return None
    returned = schema.returns[k].alias_info
    if returned is None or not returned.is_write:
        return None
    given = {**dict(zip([a.name for a in schema.arguments], call.args)), **call.kwargs}
    for argument in schema.arguments:
        known = argument.alias_info
        if known is not None and known.before_set == returned.before_set:
            value = given.get(argument.name)
            return value if isinstance(value, Node) else None
    return None


def view_chain(
    node: Node, is_step: Callable[[Node], bool] = shares_first_argument
) -> Iterator[Node]:
    """The node, its base, the base of that, and so on; the last has its own memory. `is_step` tells
    whether a node is a view of its first argument."""
    yield node
    while is_step(node):
        source = node.args[0]
        assert isinstance(source, Node)
        node = source
        yield node


def chain_root(node: Node, is_step: Callable[[Node], bool] = shares_first_argument) -> Node:
    """The last node of the chain."""
    for last in view_chain(node, is_step):
        node = last
    return node


def memory_root(node: Node) -> Node:
    """The node whose memory `node` is a view of; itself if it has its own."""
    return chain_root(node)


def views_between(node: Node) -> list[Node]:
    """The views from its memory root to `node`, which is the last."""
    return [*view_chain(node)][-2::-1]


def is_item(node: Node) -> bool:
    return node.target is operator.getitem


def same_numbers(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether sizes or strides are known to be the same, without a guard on a symbol. A symbolic
    number that tracing settled counts as an int."""
    return len(a) == len(b) and all(x is y or _same_number(x, y) for x, y in zip(a, b))


def other_numbers(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether the sizes differ for all values of the symbols: two expressions may still be equal
    under the guards of the program."""
    if len(a) != len(b):
        return True
    pairs = [(_known(x), _known(y)) for x, y in zip(a, b)]
    return any(isinstance(x, int) and isinstance(y, int) and x != y for x, y in pairs)


def _same_number(x: Any, y: Any) -> bool:
    known = _known(x)
    return known is not None and bool(known == _known(y))


def _known(number: Any) -> Any:
    """An integer or an expression; None for anything else."""
    if not isinstance(number, torch.SymInt):
        return number if isinstance(number, int) else None
    expr = number.node.expr
    return int(expr) if expr.is_Integer else expr


def fake_mode(graph: Graph) -> Any:
    """The FakeTensorMode the graph was traced in, if any of its values has one."""
    for node in graph.nodes:
        val = node.meta.get("val")
        if (mode := getattr(val, "fake_mode", None)) is not None:
            return mode
    return None


def forget_real_tensors(graph: Graph) -> None:
    """Clear the tracer's weak references to the tensors that it made fakes of:
    torch.utils.swap_tensors refuses tensors with weak references."""
    mode = fake_mode(graph)
    if mode is not None:
        describer = mode.fake_tensor_converter.meta_converter.describer
        describer.lookup_tensor.clear()
        describer.lookup_storage.clear()


def composite_ops(module: GraphModule) -> Counter[torch._ops.OpOverload]:
    """The ops that autograd decomposes, at any depth, each with its number of calls."""
    return Counter(
        node.target
        for inner in module.modules()
        if isinstance(inner, GraphModule)
        for node in inner.graph.nodes
        if isinstance(node.target, torch._ops.OpOverload) and node.target._can_decompose()
    )
