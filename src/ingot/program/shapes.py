"""Sizes of FX values: ints, or sympy expressions for dynamic dimensions."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import sympy
import torch
from torch import fx
from torch.utils._sympy.functions import Max, Min

Size: TypeAlias = Any
"""An int, or a sympy expression (which has no types that a checker could follow)."""
SIDES = (Min, Max, sympy.Min, sympy.Max)


def size_of(value: Any) -> Size:
    """A size given as an int, a SymInt or the FX node that computes it."""
    if isinstance(value, fx.Node):
        value = value.meta["val"]
    if isinstance(value, torch.SymInt):
        expr = _decided(value)
        return int(expr) if expr.is_Integer else expr
    if isinstance(value, sympy.Expr):
        return int(value) if value.is_Integer else value
    return int(value)


def _decided(value: torch.SymInt) -> sympy.Expr:
    """The size; a minimum or maximum is reduced to the argument that the ranges determine."""
    expr = value.node.expr
    if not isinstance(expr, SIDES):
        return expr
    for side in expr.args:
        if value.node.shape_env._maybe_evaluate_static(sympy.Eq(expr, side)) == sympy.true:
            return side
    return expr


def same_size(a: Size, b: Size) -> bool:
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return bool(sympy.expand(sympy.sympify(a) - b) == 0)


def tensor_of(node: fx.Node) -> torch.Tensor:
    value = node.meta["val"]
    assert isinstance(value, torch.Tensor), f"{node} is not a tensor"
    return value


def shape_of(node: fx.Node) -> tuple[Size, ...]:
    known = node.meta.get("ingot_shape")
    if known is None:
        known = node.meta["ingot_shape"] = tuple(size_of(s) for s in tensor_of(node).shape)
    return known


def strides_of(node: fx.Node) -> tuple[Size, ...]:
    known = node.meta.get("ingot_strides")
    if known is None:
        known = node.meta["ingot_strides"] = tuple(size_of(s) for s in tensor_of(node).stride())
    return known


def arguments_of(node: fx.Node) -> dict[str, Any]:
    """The node's arguments by schema name, defaults included."""
    args, kwargs = node.args, node.kwargs
    return {
        name: args[position] if position < len(args) else kwargs.get(name, default)
        for position, (name, default) in enumerate(_parameters(node.target))
    }


@cache
def _parameters(target: Any) -> tuple[tuple[str, Any], ...]:
    """Names and defaults of an op's arguments. Cached: reading a schema rebuilds it each time."""
    return tuple((a.name, a.default_value) for a in target._schema.arguments)
