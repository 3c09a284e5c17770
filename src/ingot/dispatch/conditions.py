"""Runtime conditions on symbols, which decide whether sizes lie in a box. Conditions that follow
from the ranges of the symbols are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import sympy
import torch
from torch.fx import Node

from ingot.dispatch.narrow import expression
from ingot.dispatch.ranges import Box, Range
from ingot.passes.base import ProgramDraft

if TYPE_CHECKING:
    from ingot.dispatch.trace import OperatorCall

aten = torch.ops.aten


def conditions(call: OperatorCall, box: Box, possible: Sequence[Range]) -> list[sympy.Basic]:
    """The conditions under which the sizes lie in the box."""
    asked = []
    for size, part, known in zip(call.sizes(), box, possible, strict=True):
        expr = expression(size)
        if part.low > known.low:
            asked.append(sympy.Ge(expr, part.low))
        if part.high is not None and (known.high is None or part.high < known.high):
            asked.append(sympy.Le(expr, part.high))
    return asked


def symbol_node(draft: ProgramDraft, before: Node, symbol: sympy.Symbol) -> Node:
    """The node with the symbol's value; if there is none, a new `sym_size` of a tensor."""
    fallback = None
    for node in draft.graph.nodes:
        if node is before:
            break
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt) and value.node.expr == symbol:
            return node
        if fallback is None and isinstance(value, torch.Tensor):
            fallback = _size(node, value, symbol)
    assert fallback is not None, f"no input has the size {symbol}"
    source, dimension, number = fallback
    return draft.call(before, aten.sym_size.int, (source, dimension), number)


def _size(
    node: Node, value: torch.Tensor, symbol: sympy.Symbol
) -> tuple[Node, int, torch.SymInt] | None:
    for k, size in enumerate(value.shape):
        if isinstance(size, torch.SymInt) and size.node.expr == symbol:
            return node, k, size
    return None
