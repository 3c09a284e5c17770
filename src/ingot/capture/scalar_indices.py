"""Indexing by a 0-d tensor. PyTorch reads its value (`x[i]` is `x.select(0, i.item())`), which a
tracer cannot. Where a view is indistinguishable from a copy, the index stays a tensor.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import Tensor, fx
from torch.utils._pytree import tree_leaves

from ingot.program.graph import output_node

_CONSUMES_ONE = (int, slice)
"""Indices that consume one dimension each."""


def index_by_tensors(gm: fx.GraphModule) -> None:
    """Rewrites Dynamo's graph in place."""
    found = [node for node in gm.graph.nodes if _numbers(node)]
    if not found or _has_writes(gm.graph):
        return
    for node in found:
        if not _is_returned(gm.graph, node):
            _rewrite(gm.graph, node)
    gm.recompile()


def _numbers(node: fx.Node) -> list[int]:
    """The positions of 0-d integer tensors, if all indices before them consume one dimension
    each."""
    if node.op != "call_function" or node.target is not operator.getitem:
        return []
    if not isinstance(_value(node.args[0]), Tensor):
        return []
    found: list[int] = []
    for at, index in enumerate(_indices(node)):
        value = _value(index)
        if isinstance(value, Tensor) and _is_number(value):
            found.append(at)
        elif not isinstance(value, _CONSUMES_ONE) or isinstance(value, bool):
            break
    return found


def _indices(node: fx.Node) -> tuple[Any, ...]:
    given = node.args[1]
    return given if isinstance(given, tuple) else (given,)


def _value(argument: Any) -> Any:
    return argument.meta.get("example_value") if isinstance(argument, fx.Node) else argument


def _is_number(value: Tensor) -> bool:
    mask = value.dtype in (torch.bool, torch.uint8)
    counts = not (value.is_floating_point() or value.is_complex() or mask)
    return value.dim() == 0 and counts


def _has_writes(graph: fx.Graph) -> bool:
    values = (v for node in graph.nodes for v in tree_leaves(node.meta.get("example_value")))
    return any(isinstance(v, Tensor) and (v.is_inference() or v._version) for v in values)


def _is_returned(graph: fx.Graph, node: fx.Node) -> bool:
    """Whether the node or a view of it is a result, which must share memory with the indexed
    tensor."""
    memory = node.meta["example_value"].untyped_storage()._cdata
    later, waiting = {node}, [node]
    while waiting:
        users = [user for user in waiting.pop().users if user not in later]
        later.update(users)
        waiting += users
    values = [_value(result) for result in output_node(graph).all_input_nodes if result in later]
    tensors = [v for v in tree_leaves(values) if isinstance(v, Tensor)]
    return any(t.untyped_storage()._cdata == memory for t in tensors)


def _rewrite(graph: fx.Graph, node: fx.Node) -> None:
    source, indices = node.args[0], list(_indices(node))
    with graph.inserting_before(node):
        for at in _numbers(node):
            row = graph.call_method("reshape", (indices[at], (1,)))
            row = graph.call_method("to", (row, torch.int64))
            places = [None] * at + [row]
            source = graph.call_function(torch.ops.aten.index.Tensor, (source, places))
            source.meta["stack_trace"] = node.meta.get("stack_trace")
            indices[at] = 0
    node.args = (source, tuple(indices))
