"""Native variances: a sum of squared distances from the mean becomes our own op, which removes the
error that the mean's rounding adds. The mean must be that of the same elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.fx import Node

from ingot.passes.base import Pass, ProgramDraft, args_of
from ingot.passes.normalize import named_dims, respell, val
from ingot.program.graph import same_numbers
from ingot.program.native_ops import spread

aten = torch.ops.aten
SUM = aten.sum.dim_IntList


@dataclass(frozen=True)
class Spread(Pass):
    name: ClassVar[str] = "spread"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        found = 0
        for node in draft.graph.find_nodes(op="call_function", target=SUM):
            distance = _distance(node)
            if distance is None:
                continue
            squares, _, keepdim = _summed(node)
            respell(node, spread, (distance, node.args[1], keepdim))
            if not squares.users:
                draft.graph.erase_node(squares)
            found += 1
        return [f"sums of squares around a mean: {found}"] if found else []


def _distance(node: Node) -> Node | None:
    """The values that are squared and summed here, if they are distances from their own mean,
    computed in f32 or f64."""
    squares, dims, _ = _summed(node)
    if val(node).dtype not in (torch.float32, torch.float64):
        return None
    distance, again = _operands(squares, aten.mul.Tensor)
    if distance is None or distance is not again:
        return None
    x, mean = _operands(distance, aten.sub.Tensor)
    total, count = _operands(mean, aten.div.Tensor)
    if not isinstance(total, Node) or total.target is not SUM:
        return None
    values = [val(each) for each in (x, distance, mean)]
    same = all(v.dtype is val(node).dtype for v in values)
    if _summed(total) != (x, dims, True) or not same:
        return None
    elements: Any = 1
    for dim in dims:
        elements = elements * val(x).shape[dim]
    number = val(count) if isinstance(count, Node) else count
    if isinstance(number, torch.Tensor) or not same_numbers((number,), (elements,)):
        return None
    return distance


def _summed(node: Node) -> tuple[Any, list[int], bool]:
    """(the summed value, the dims, whether they are kept)"""
    x, dims, *rest = args_of(node)
    return x, named_dims(dims, val(x).dim()), bool(rest and rest[0])


def _operands(node: Any, target: Any) -> tuple[Any, Any]:
    """The operands of a call with two of them and no keywords; else (None, None)."""
    if not isinstance(node, Node) or node.target is not target or node.kwargs:
        return None, None
    a, b = node.args
    return a, b
