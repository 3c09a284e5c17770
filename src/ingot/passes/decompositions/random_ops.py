"""Random numbers in eager's order. Functionalization gives `bernoulli_` and `bernoulli` the same
form, though the first draws along the memory that it writes and the second along the shape.
Therefore `order_random_ops` first gives every draw along the shape a contiguous argument; a
`bernoulli` whose argument is not contiguous afterwards is one that writes, and its decomposition
draws in the order of memory.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, fx
from torch._ops import OpOverload
from torch._prims_common import is_contiguous_or_false

from ingot.passes.decompositions import Decomposition, decomposes
from ingot.passes.decompositions.layouts import dimension_order

aten = torch.ops.aten


def order_random_ops(gm: fx.GraphModule) -> None:
    """Before `gm` is made functional, in place: a `bernoulli` that returns new numbers, along the
    shape, reads a contiguous copy of a tensor that is not."""
    for module in gm.modules():
        if not isinstance(module, fx.GraphModule):
            continue
        found = [node for node in module.graph.nodes if _is_random(node)]
        for node in found:
            _take_copy(node)
        if found:
            module.recompile()


def _is_random(node: fx.Node) -> bool:
    """With one probability for all: `bernoulli` by itself takes each from its argument."""
    return node.target in (torch.bernoulli, "bernoulli", aten.bernoulli.p) and (
        len(node.args) > 1 or "p" in node.kwargs
    )


def _take_copy(node: fx.Node) -> None:
    shape, *rest = node.args or (node.kwargs["input"],)
    assert isinstance(shape, fx.Node)
    val = shape.meta.get("val", shape.meta.get("example_value"))
    if isinstance(val, Tensor) and is_contiguous_or_false(val):
        return
    with node.graph.inserting_before(node):
        copy = node.graph.call_function(
            aten.clone.default, (shape,), {"memory_format": torch.contiguous_format}
        )
    copy.meta = {k: v for k, v in node.meta.items() if k not in ("val", "example_value")}
    node.args = (copy, *rest)
    node.kwargs = {k: v for k, v in node.kwargs.items() if k != "input"}


@decomposes("bernoulli.p")
def bernoulli(x: Tensor, p: float = 0.5, *, generator: Any = None) -> Any:
    order = dimension_order([x], x.dim())
    if order == sorted(order):
        return NotImplemented
    drawn = aten.bernoulli.p(aten.permute(x, order), p, generator=generator)
    return aten.permute(drawn, [order.index(dim) for dim in range(x.dim())])


random_decompositions: dict[OpOverload, Decomposition] = {aten.bernoulli.p: bernoulli}
"""For every level: this is about what a program means."""
