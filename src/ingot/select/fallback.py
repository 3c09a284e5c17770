"""Runs a region without a kernel op by op through PyTorch, with the same values."""

from __future__ import annotations

from collections.abc import Callable

from torch import fx

from ingot.fuse.reductions import reduction_of
from ingot.fuse.region import Region
from ingot.fuse.views import is_view


def region_inputs(region: Region) -> list[fx.Node]:
    """The nodes that the region's stored values are computed from, including views and sizes."""
    inside = set(region_calls(region))
    found: dict[fx.Node, None] = {}
    for node in inside:
        found.update(dict.fromkeys(n for n in node.all_input_nodes if n not in inside))
    return list(found)


def region_calls(
    region: Region, is_known: Callable[[fx.Node], bool] = lambda node: True
) -> list[fx.Node]:
    """The calls that compute the stored values, in execution order. A value that kernels never
    read, because other values cover it, has no memory; it is recomputed here, since PyTorch's ops
    need it."""
    found: dict[fx.Node, None] = {}
    inlined = {node for node, _ in region.inlined}

    def is_inside(node: fx.Node) -> bool:
        own = node in region.members or node in inlined or is_view(node) or _is_pair(node)
        return own or (node.op == "call_function" and not is_known(node))

    def visit(node: fx.Node) -> None:
        if node in found:
            return
        for operand in filter(is_inside, node.all_input_nodes):
            visit(operand)
        found[node] = None

    for node in region.stored:
        visit(node)
    return list(found)


def _is_pair(node: fx.Node) -> bool:
    """max.dim and similar ops: their results are the members, the ops themselves are no steps."""
    return isinstance(node.meta.get("val"), list | tuple) and all(
        reduction_of(u) for u in node.users
    )
