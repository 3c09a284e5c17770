"""Whether a value is cheaper to recompute than to store and load. Only elementwise nodes whose
operands are in memory anyway qualify, and never a chain whose cost could multiply."""

from __future__ import annotations

from collections.abc import Container, Mapping

import torch
from torch import fx

from ingot.fuse import index as ix
from ingot.fuse.elements import is_elementwise
from ingot.fuse.region import Template
from ingot.ops.rules import pointwise_rules
from ingot.program.annotations import STORED
from ingot.program.shapes import shape_of

CHEAP = 4
CHEAP_ROW = 12
"""For a value that its user broadcasts, so that it is computed outside the inner loop, or of which
the user needs only a small part."""
MOST_DEPTH = 6
MOST_COST = 60
MOST_LOADS = 4
"""For a value with one user, which needs no more elements than the value has."""


def worth_inlining(
    node: fx.Node,
    user: fx.Node,
    templates: Mapping[fx.Node, Template],
    same_region: bool,
    present: Container[fx.Node],
) -> bool:
    """Should `user` recompute `node`, which lies in another region or is read at other points,
    perhaps through other values? `present` are the values that the user's region has anyway."""
    cost, loads = _chain(node, templates, present, MOST_DEPTH)
    if cost is None:
        return False
    if loads == 0 or (loads <= 1 and cost <= CHEAP):
        return True
    fewer = _much_larger(node, user)
    if cost <= CHEAP_ROW and (fewer or _much_larger(user, node)):
        return True
    if len(node.users) > 1 or cost > MOST_COST or loads > MOST_LOADS:
        return False
    return fewer or (same_region and _not_larger(user, node))


def _chain(
    node: fx.Node, templates: Mapping[fx.Node, Template], present: Container[fx.Node], depth: int
) -> tuple[int | None, int]:
    """(instructions per element, None if it cannot be inlined; full-size loads) down to memory."""
    template = templates.get(node)
    if template is None or not is_elementwise(node) or depth == 0 or node.meta.get(STORED):
        return None, 0
    if node.target in (torch.ops.aten.cat.default, torch.ops.aten.constant_pad_nd.default):
        return None, 0
    rule = pointwise_rules.get(node.target)  # type: ignore[call-overload]
    cost = rule.cost if rule is not None else 1
    loads = 0
    for read, point in template.reads:
        if read in present:
            continue
        if read.op in ("placeholder", "get_attr") or read not in templates:
            loads += any(i.terms for i in point)
            continue
        inner, inner_loads = _chain(read, templates, present, depth - 1)
        if inner is None:
            loads += any(i.terms for i in point)
            continue
        cost += inner
        loads += inner_loads
    return cost, loads


def _not_larger(user: fx.Node, node: fx.Node) -> bool:
    a, b = ix.product(shape_of(user)), ix.product(shape_of(node))
    return isinstance(a, int) and isinstance(b, int) and a <= b


def _much_larger(user: fx.Node, node: fx.Node) -> bool:
    a, b = ix.product(shape_of(user)), ix.product(shape_of(node))
    return isinstance(a, int) and isinstance(b, int) and a >= 8 * b
