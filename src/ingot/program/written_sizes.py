"""Symbolic sizes as nodes: the arithmetic that computes them from the sizes of a graph's inputs."""

from __future__ import annotations

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
    None if a symbol is not the size of an input."""
    if isinstance(sizes, list | tuple):
        found = [written_sizes(graph, size) for size in sizes]
        return None if any(each is None for each in found) else type(sizes)(found)
    if not isinstance(sizes, torch.SymInt):
        return sizes
    expression = sizes.node.expr
    if expression.is_Integer:
        return int(expression)
    dimensions = _dimensions(graph)
    if not expression.free_symbols <= dimensions.keys():
        return None
    known = {s: _written_symbol(graph, *dimensions[s]) for s in expression.free_symbols}
    result = sympy_interp(PythonReferenceAnalysis, known, expression)
    return result.node if isinstance(result, Proxy) else result


def _dimensions(graph: Graph) -> dict[sympy.Basic, tuple[Node, int | None]]:
    """For each symbol, an input and the dimension that it is the size of; None: the input is the
    number itself."""
    found: dict[sympy.Basic, tuple[Node, int | None]] = {}
    for node in placeholders(graph):
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt):
            found.setdefault(value.node.expr, (node, None))
        for dim, size in enumerate(value.shape if isinstance(value, torch.Tensor) else ()):
            if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                found.setdefault(size.node.expr, (node, dim))
    return found


class _Tracer(GraphAppendingTracer):
    """Gives each node the value that it computes."""

    def create_node(self, *args: Any, **kwargs: Any) -> Node:
        node = super().create_node(*args, **kwargs)
        given, named = map_arg((node.args, node.kwargs), lambda n: n.meta["val"])
        node.meta["val"] = node.target(*given, **named)  # type: ignore[operator]
        return node


def _written_symbol(graph: Graph, source: Node, dim: int | None) -> Proxy:
    tracer = _Tracer(graph)
    if dim is None:
        return Proxy(source, tracer)
    node = tracer.create_node("call_function", torch.ops.aten.sym_size.int, (source, dim), {})
    return Proxy(node, tracer)
