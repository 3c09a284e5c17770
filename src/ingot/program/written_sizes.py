"""Symbolic sizes as nodes: the arithmetic that computes them from the sizes of a graph's inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
import torch
from torch.fx import Graph, Node, Proxy
from torch.fx.node import map_arg
from torch.fx.proxy import GraphAppendingTracer
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis

from ingot.program.graph import placeholders


def written_sizes(graph: Graph, sizes: Any) -> Any | None:
    """The nested lists of sizes with a node for each symbolic one, added where the graph inserts;
    None if a symbol is neither a value of the graph nor a size or stride of an input."""
    if isinstance(sizes, list | tuple):
        found = [written_sizes(graph, size) for size in sizes]
        return None if any(each is None for each in found) else type(sizes)(found)
    if not isinstance(sizes, torch.SymInt):
        return sizes
    expression = sizes.node.expr
    if expression.is_Integer:
        return int(expression)
    queries = _queries(graph)
    if not expression.free_symbols <= queries.keys():
        return None
    known = {s: _written_symbol(graph, *queries[s]) for s in expression.free_symbols}
    result = sympy_interp(PythonReferenceAnalysis, known, expression)
    return result.node if isinstance(result, Proxy) else result


def _queries(graph: Graph) -> dict[sympy.Basic, tuple[Any, ...]]:
    """For each symbol a node that is the number itself, or an op and its arguments that ask an
    input for it."""
    found: dict[sympy.Basic, tuple[Any, ...]] = {}
    for node in graph.nodes:
        if isinstance(node.meta.get("val"), torch.SymInt):
            found.setdefault(node.meta["val"].node.expr, (node,))
    for query, numbers in _ASKED.items():
        for node in placeholders(graph):
            value = node.meta.get("val")
            if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
                continue
            for dim, number in enumerate(numbers(value)):
                if isinstance(number, torch.SymInt):
                    found.setdefault(number.node.expr, (query, node, dim))
    return {symbol: row for symbol, row in found.items() if symbol.is_Symbol}


_ASKED: dict[Any, Callable[[torch.Tensor], Any]] = {
    torch.ops.aten.sym_size.int: lambda value: value.shape,
    torch.ops.aten.sym_stride.int: lambda value: value.stride(),
}


class _Tracer(GraphAppendingTracer):
    """Gives each node the value that it computes."""

    def create_node(self, *args: Any, **kwargs: Any) -> Node:
        node = super().create_node(*args, **kwargs)
        given, named = map_arg((node.args, node.kwargs), lambda n: n.meta["val"])
        node.meta["val"] = node.target(*given, **named)  # type: ignore[operator]
        return node


def _written_symbol(graph: Graph, *found: Any) -> Proxy:
    tracer = _Tracer(graph)
    if len(found) == 1:
        return Proxy(found[0], tracer)
    query, source, dim = found
    return Proxy(tracer.create_node("call_function", query, (source, dim), {}), tracer)
