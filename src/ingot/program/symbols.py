"""Symbols in the values of a graph, and the calls that introduce them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sympy
import torch
from torch import fx


def symbols_before(node: fx.Node) -> set[str]:
    """Names of the symbols in values before `node`."""
    found: set[str] = set()
    for earlier in node.graph.nodes:
        if earlier is node:
            break
        found |= symbol_names(earlier.meta.get("val"))
    return found


def has_symbols(graph: fx.Graph) -> bool:
    """Whether any value has a size that is known only at run time."""
    return any(symbol_names(node.meta.get("val")) for node in graph.nodes)


def makers(graph: fx.Graph) -> dict[str, fx.Node]:
    """By name, for each symbol in no input: the first call whose result has it."""
    found: dict[str, fx.Node | None] = {}
    for node in graph.nodes:
        maker = node if node.op == "call_function" else None
        for name in symbol_names(node.meta.get("val")):
            found.setdefault(name, maker)
    return {name: maker for name, maker in found.items() if maker is not None}


def symbol_names(value: Any) -> set[str]:
    """In the sizes, strides and offset of a tensor, in a number, or in any of several values."""
    return {symbol.name for symbol in symbols_in(value)}


def symbols_in(value: Any) -> set[sympy.Symbol]:
    """As `symbol_names`."""
    return {symbol for number in _numbers(value) for symbol in _expression(number)}


def _numbers(value: Any) -> Iterable[Any]:
    if isinstance(value, list | tuple):
        return [number for part in value for number in _numbers(part)]
    if isinstance(value, torch.Tensor):
        if not value._has_symbolic_sizes_strides:
            return ()
        if value.layout is not torch.strided:
            return value.shape
        return (*value.shape, *value.stride(), value.storage_offset())
    return (value,)


def _expression(number: Any) -> set[sympy.Symbol]:
    if isinstance(number, torch.SymInt | torch.SymFloat | torch.SymBool):
        return number.node.expr.free_symbols
    return set()
