"""`bernoulli` before a graph is made functional. Comes in: a graph of Dynamo's or torch.export's,
to be changed: a call that returns new draws, along the shape, takes a contiguous copy of a tensor
that is not. What holds: every draw from something that is not contiguous is one that writes, for
which passes/decompositions/draws.py has the order.
"""

from __future__ import annotations

import torch
from torch import Tensor, fx
from torch._prims_common import is_contiguous_or_false

aten = torch.ops.aten


def order_draws(gm: fx.GraphModule) -> None:
    for module in gm.modules():
        if isinstance(module, fx.GraphModule) and (found := [*filter(_draws, module.graph.nodes)]):
            for node in found:
                _take_copy(node)
            module.recompile()


def _draws(node: fx.Node) -> bool:
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
