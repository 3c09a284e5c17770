"""Results in the memory of a written input. A functional graph computes them from the written
value, which is another tensor: it starts at offset 0 and may be dense where the input has gaps.
Such a result is the same views of the input itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Graph, Node
from torch.fx.node import map_arg

from ingot.program.written_sizes import written_sizes

aten = torch.ops.aten
BY_SIZES: dict[Any, Any] = {
    aten.expand_as.default: aten.expand.default,
    aten.reshape_as.default: aten.reshape.default,
    aten.view_as.default: aten.view.default,
}
"""Of their second argument they read only the sizes, which are the result's."""


@dataclass(frozen=True)
class Shared:
    """A user output in the memory of an input."""

    source: str
    """The input's name."""
    views: tuple[Node, ...]
    """The views from the input to the output, in the graph they were read from."""
    geometry: tuple[Any, ...] | None = None
    """If no views lead to the output: its size, strides and offset from the input's first
    element."""


def viewed(graph: Graph, source: Node, shared: Shared) -> Node | None:
    """The output as views of `source`, added where the graph inserts; None where a size of a view
    is not known from the graph's inputs."""
    if shared.geometry is not None:
        return _strided(graph, source, *shared.geometry)
    for view in shared.views:
        made = _applied(graph, source, view)
        if made is None:
            return None
        made.meta = {**view.meta, **made.meta}
        source = made
    return source


def _applied(graph: Graph, source: Node, view: Node) -> Node | None:
    target, given = view.target, view.args[1:]
    if target in BY_SIZES:
        target, given = BY_SIZES[target], ([*view.meta["val"].shape],)
    values = map_arg((list(given), dict(view.kwargs)), lambda node: node.meta["val"])
    written = _written(graph, values)
    if written is None:
        return None
    return _call(graph, target, source, *written[0], **written[1])


def _written(graph: Graph, values: Any) -> Any | None:
    """The nested arguments with a node for each symbolic number."""
    if isinstance(values, dict):
        rows = _written(graph, [*values.values()])
        return None if rows is None else dict(zip(values, rows))
    if isinstance(values, torch.Tensor):
        return None
    if isinstance(values, list | tuple):
        found = [_written(graph, value) for value in values]
        return None if any(f is None is not v for f, v in zip(found, values)) else found
    return written_sizes(graph, values)


def _strided(graph: Graph, source: Node, size: Any, stride: Any, start: Any) -> Node | None:
    """`as_strided` without an offset starts where its argument does."""
    geometry = written_sizes(graph, (list(size), list(stride), start))
    if geometry is None:
        return None
    sizes, strides, begin = geometry
    if begin != 0:
        flat = _call(
            graph, aten.as_strided.default, source, [_end(graph, size, stride, start)], [1]
        )
        source = _call(graph, aten.slice.Tensor, flat, 0, begin)
    return _call(graph, aten.as_strided.default, source, sizes, strides)


def _end(graph: Graph, size: Any, stride: Any, start: Any) -> Any:
    return written_sizes(graph, start + 1 + sum((n - 1) * s for n, s in zip(size, stride)))


def _call(graph: Graph, target: Any, *args: Any, **kwargs: Any) -> Node:
    made = graph.call_function(target, args, kwargs)
    values, named = map_arg((args, kwargs), lambda node: node.meta["val"])
    made.meta["val"] = target(*values, **named)
    return made
