"""Random numbers in eager's order. Functionalization gives `bernoulli_` and `bernoulli` the same
form, but the first samples in the order of the memory it writes and the second in the order of the
shape. `order_random_ops` therefore gives every op that samples by shape a contiguous argument. A
`bernoulli` whose argument is still not contiguous is one that writes, and its decomposition samples
in memory order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, fx
from torch._ops import OpOverload
from torch._prims_common import is_contiguous_or_false
from torch.fx.node import _side_effectful_functions

from ingot.passes.decompositions import Decomposition, decomposes
from ingot.passes.decompositions.layouts import dimension_order

aten, higher = torch.ops.aten, torch.ops.higher_order
CONTROL_FLOW: set[Any] = {higher.cond, higher.while_loop, higher.scan, higher.map_impl}


def order_random_ops(gm: fx.GraphModule) -> None:
    """Run in place before `gm` is made functional: a `bernoulli` that returns a new tensor, and
    thus samples by shape, reads a contiguous copy of an argument that is not contiguous."""
    for module in gm.modules():
        if not isinstance(module, fx.GraphModule):
            continue
        found = [node for node in module.graph.nodes if _is_random(node)]
        for node in found:
            _take_copy(node)
        if found:
            module.recompile()


@contextmanager
def keeping_control_flow() -> Iterator[None]:
    """Within the context, PyTorch removes no control flow without a use: its bodies may advance the
    generator, which PyTorch does not look for."""
    added = CONTROL_FLOW - _side_effectful_functions
    _side_effectful_functions.update(added)
    try:
        yield
    finally:
        _side_effectful_functions.difference_update(added)


def _is_random(node: fx.Node) -> bool:
    """Whether it has one probability for all elements: plain `bernoulli` reads them from its
    argument."""
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
"""Applies at every level: the sampling order is part of a program's semantics."""
