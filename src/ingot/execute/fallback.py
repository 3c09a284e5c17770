"""A region that could not be compiled, run through PyTorch's kernels: same values, node by node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from ingot.fuse.reductions import reduction_of
from ingot.fuse.region import Region
from ingot.fuse.views import is_view


def region_inputs(region: Region) -> list[fx.Node]:
    """Nodes the region's stored values are computed from, views and sizes included."""
    found: dict[fx.Node, None] = {}
    inlined = {node for node, _ in region.inlined}

    def visit(node: fx.Node) -> None:
        for operand in node.all_input_nodes:
            if (
                operand in region.members
                or operand in inlined
                or is_view(operand)
                or _is_pair(operand)
            ):
                visit(operand)
            else:
                found.setdefault(operand)

    for node in region.stored:
        visit(node)
    return list(found)


def _is_pair(node: fx.Node) -> bool:
    """max.dim and its kin: their parts are the members, they themselves no step."""
    return isinstance(node.meta.get("val"), list | tuple) and all(
        reduction_of(u) for u in node.users
    )


def interpret(region: Region, inputs: Sequence[fx.Node]) -> Callable[..., list[Any]]:
    """A function from the inputs' values to those of the stored nodes."""
    stored = list(region.stored)

    def run(*values: Any) -> list[Any]:
        known = dict(zip(inputs, values, strict=True))

        def value(node: fx.Node) -> Any:
            if node not in known:
                args, kwargs = fx.node.map_arg((node.args, node.kwargs), value)
                known[node] = node.target(*args, **kwargs)  # type: ignore[operator]
            return known[node]

        return [laid_out(value(n), tuple(map(int, n.meta["val"].stride()))) for n in stored]

    return run


def laid_out(value: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    """The value with the strides that the rest of the program counts on."""
    if value.stride() == strides:
        return value
    return torch.empty_strided(value.shape, strides, dtype=value.dtype).copy_(value)
