"""`bernoulli` before a graph is made functional. Comes in: a graph of Dynamo's or torch.export's,
to be changed: where a call returns a new tensor of draws, that tensor is made and then written, as
the kernel does. What holds: every draw left is one that writes, for which
passes/decompositions/draws.py has the order.
"""

from __future__ import annotations

import torch
from torch import Tensor, fx

aten = torch.ops.aten


def write_draws(gm: fx.GraphModule) -> None:
    for module in gm.modules():
        if isinstance(module, fx.GraphModule) and (found := [*filter(_draws, module.graph.nodes)]):
            for node in found:
                _write(node)
            module.recompile()


def _draws(node: fx.Node) -> bool:
    """With one probability for all: other forms of the op are functional by themselves."""
    if node.target not in (torch.bernoulli, "bernoulli", aten.bernoulli.p) or "out" in node.kwargs:
        return False
    p = node.kwargs.get("p", node.args[1] if len(node.args) > 1 else None)
    return p is not None and not (
        isinstance(p, fx.Node) and isinstance(p.meta.get("example_value"), Tensor)
    )


def _write(node: fx.Node) -> None:
    graph, rest = node.graph, node.args[1:]
    exported = node.target is aten.bernoulli.p
    with graph.inserting_before(node):
        made = graph.call_function(
            aten.empty_like.default if exported else torch.empty_like,
            (node.args[0],),
            {"memory_format": torch.contiguous_format},
        )
        if exported:
            drawn = graph.call_function(aten.bernoulli_.float, (made, *rest), node.kwargs)
        else:
            drawn = graph.call_method("bernoulli_", (made, *rest), node.kwargs)
    made.meta = {**node.meta}
    drawn.meta = {**node.meta}
    node.replace_all_uses_with(drawn)
    graph.erase_node(node)
