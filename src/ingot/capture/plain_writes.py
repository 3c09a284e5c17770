"""In-place ops that PyTorch cannot functionalize, rewritten as copies of functional results.
`fill_diagonal_` writes through `as_strided`, which functionalization refuses for a view of an
intermediate and checks against the wrong size for a view at an offset. `polygamma_` takes its
arguments in another order than `polygamma`, so that PyTorch takes it for a custom op. Applies to
Dynamo's graphs and to exported programs, neither of which is functional yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx

aten = torch.ops.aten

Call = Callable[..., fx.Node]
"""Inserts a call of an op."""


def write_plainly(module: fx.GraphModule) -> None:
    found = [node for node in module.graph.nodes if node.target in _FUNCTIONAL]
    for node in found:
        _rewrite(node)
    if found:
        module.recompile()


def _rewrite(node: fx.Node) -> None:
    def call(op: Any, *args: Any) -> fx.Node:
        with node.graph.inserting_before(node):
            made = node.graph.call_function(op, args)
        made.meta["stack_trace"] = node.meta.get("stack_trace")
        return made

    schema, functional = _FUNCTIONAL[node.target]
    names = [argument.name for argument in schema.arguments]
    given = {**dict(zip(names, node.args)), **node.kwargs}
    written = given.pop("self")
    made = functional(call, written, **given)
    if made is not None:
        node.op, node.target = "call_function", aten.copy_.default
        node.args, node.kwargs = (written, made), {}


def _polygamma(call: Call, x: fx.Node, n: int) -> fx.Node:
    return call(aten.polygamma.default, n, x)


def _fill_diagonal(call: Call, x: fx.Node, fill_value: Any, wrap: bool = False) -> fx.Node | None:
    """None if it wraps around in a tall matrix that is not contiguous: eager's elements then are
    not those of a diagonal."""
    value = x.meta.get("val", x.meta.get("example_value"))
    if not isinstance(value, torch.Tensor):
        return None
    if wrap and not _is_wide(value):
        return _fill_wrapping(call, x, fill_value, value)
    views = [x]
    for _ in range(value.dim() - 1):
        views.append(call(aten.diagonal.default, views[-1], 0, -1, 0))
    made = call(aten.fill.Scalar, views[-1], fill_value)
    for view in reversed(views[:-1]):
        made = call(aten.diagonal_scatter.default, view, made, 0, -1, 0)
    return made


def _fill_wrapping(call: Call, x: fx.Node, fill_value: Any, value: torch.Tensor) -> Any:
    if not all(isinstance(size, int) for size in value.shape) or not value.is_contiguous():
        return None
    flat = call(aten.view.default, x, [-1])
    every = (0, 0, value.numel(), value.shape[1] + 1)
    filled = call(aten.fill.Scalar, call(aten.slice.Tensor, flat, *every), fill_value)
    made = call(aten.slice_scatter.default, flat, filled, *every)
    return call(aten.view.default, made, list(value.shape))


def _is_wide(value: torch.Tensor) -> bool:
    height, width = value.shape[:2]
    return isinstance(height, int) and isinstance(width, int) and height <= width + 1


_FUNCTIONAL: dict[Any, tuple[torch.FunctionSchema, Callable[..., fx.Node | None]]] = {
    target: (op.default._schema, functional)
    for op, functional in ((aten.polygamma_, _polygamma), (aten.fill_diagonal_, _fill_diagonal))
    for target in (op, op.default, op.default._schema.name.removeprefix("aten::"))
}
"""By op, overload and the name of the method."""
