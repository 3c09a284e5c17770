"""Reductions and scans: the kind, operand and dimensions of a node, or None if it is neither.
Half-precision types accumulate in f32.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from ingot.program.native_ops import spread
from ingot.program.shapes import arguments_of, shape_of, tensor_of

aten = torch.ops.aten


@dataclass(frozen=True)
class Reduction:
    """The properties of a reduction node."""

    kind: str
    """sum, prod, max, min, any, all, argmax, argmin, spread"""
    operand: fx.Node
    dims: tuple[int, ...]
    """Dimensions of the operand that are reduced."""
    accumulate: torch.dtype
    part: int
    """0: the value, 1: the index of the value."""


def _sum(node: fx.Node) -> Reduction:
    arguments = arguments_of(node)
    operand = arguments["self"]
    dtype = tensor_of(node).dtype
    wide = torch.float32 if dtype in (torch.bfloat16, torch.float16) else dtype
    kind = "any" if dtype is torch.bool else "sum"  # a sum in one bit wraps modulo two
    return Reduction(kind, operand, _dims(operand, arguments.get("dim")), wide, 0)


def _spread(node: fx.Node) -> Reduction:
    arguments = arguments_of(node)
    operand = arguments["distance"]
    dims = _dims(operand, arguments["dim"])
    return Reduction("spread", operand, dims, tensor_of(node).dtype, 0)


def _prod(node: fx.Node) -> Reduction:
    arguments = arguments_of(node)
    dtype = tensor_of(node).dtype
    wide = torch.float32 if dtype in (torch.bfloat16, torch.float16) else dtype
    return Reduction(
        "prod", arguments["self"], _dims(arguments["self"], arguments.get("dim")), wide, 0
    )


def _extremum(kind: str) -> Callable[[fx.Node], Reduction]:
    def rule(node: fx.Node) -> Reduction:
        arguments = arguments_of(node)
        operand = arguments["self"]
        return Reduction(
            kind, operand, _dims(operand, arguments.get("dim")), tensor_of(operand).dtype, 0
        )

    return rule


def _logical(kind: str) -> Callable[[fx.Node], Reduction]:
    def rule(node: fx.Node) -> Reduction:
        arguments = arguments_of(node)
        operand = arguments["self"]
        return Reduction(kind, operand, _dims(operand, arguments.get("dim")), torch.bool, 0)

    return rule


def _position(kind: str) -> Callable[[fx.Node], Reduction]:
    def rule(node: fx.Node) -> Reduction:
        arguments = arguments_of(node)
        operand = arguments["self"]
        dims = _dims(operand, arguments.get("dim"))
        return Reduction(kind, operand, dims, tensor_of(operand).dtype, 1)

    return rule


def _dims(operand: fx.Node, given: Any) -> tuple[int, ...]:
    rank = len(shape_of(operand))
    if given is None or given == []:
        return tuple(range(rank))
    dims = given if isinstance(given, Sequence) else [given]
    return tuple(sorted({int(d) % rank for d in dims})) if rank else ()


reduction_rules: dict[Any, Callable[[fx.Node], Reduction]] = {
    aten.sum.default: _sum, aten.sum.dim_IntList: _sum, spread: _spread,
    aten.prod.default: _prod, aten.prod.dim_int: _prod,
    aten.amax.default: _extremum("max"), aten.amin.default: _extremum("min"),
    aten.max.default: _extremum("max"), aten.min.default: _extremum("min"),
    aten.any.default: _logical("any"), aten.any.dim: _logical("any"),
    aten.any.dims: _logical("any"),
    aten.all.default: _logical("all"), aten.all.dim: _logical("all"),
    aten.all.dims: _logical("all"),
    aten.argmax.default: _position("argmax"), aten.argmin.default: _position("argmin"),
}  # fmt: skip
POSITIONS = (aten.argmax.default, aten.argmin.default)
_PAIRS = {aten.max.dim: "argmax", aten.min.dim: "argmin"}


def reduction_of(node: fx.Node) -> Reduction | None:
    """The node as a reduction, or None. max.dim and min.dim are two reductions, one for each
    result."""
    if node.op != "call_function":
        return None
    if node.target is operator.getitem:
        pair = node.args[0]
        assert isinstance(pair, fx.Node)
        if pair.target not in _PAIRS:
            return None
        whole = _position(_PAIRS[pair.target])(pair)
        return Reduction(whole.kind, whole.operand, whole.dims, whole.accumulate, int(node.args[1]))  # type: ignore[arg-type]
    rule = reduction_rules.get(node.target)
    return rule(node) if rule is not None else None


# -- scans -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Running:
    """A node whose elements each combine all elements up to that one along `dim`."""

    kind: str
    operand: fx.Node
    dim: int
    accumulate: torch.dtype


scan_rules = {aten.cumsum.default: "sum", aten.cumprod.default: "prod"}
_WIDER = {torch.float32: torch.float64, torch.bfloat16: torch.float32, torch.float16: torch.float32}


def scan_of(node: fx.Node) -> Running | None:
    if node.op != "call_function" or node.target not in scan_rules or not shape_of(node):
        return None
    arguments = arguments_of(node)
    dtype = tensor_of(node).dtype
    if dtype is torch.bool:
        return None  # a running sum in one bit wraps modulo two
    dim = arguments["dim"] % len(shape_of(node))
    return Running(scan_rules[node.target], arguments["self"], dim, _WIDER.get(dtype, dtype))
