"""Decides whether the values of a branch or loop permit a native step: every size in its bodies is
known before it starts, carried values have the same layout in every iteration, without overlap, and
predicates are booleans or computed from sizes.
"""

from __future__ import annotations

from typing import Any

import sympy
import torch
from torch import fx

from ingot.codegen.support.executor import MOST_ARGUMENTS
from ingot.fuse.fused import CallStep
from ingot.plan.calls import definitions
from ingot.program.graph import output_values, placeholders, same_numbers
from ingot.program.higher_order import Control
from ingot.program.shapes import shape_of, strides_of
from ingot.program.symbols import symbol_names, symbols_in

FIXED_WORDS = 4
"""Arguments of a loop's step, besides two for each value that it moves."""


def fits(step: CallStep, control: Control, in_sight: set[str]) -> bool:
    moved = 2 * (len(control.carried) + len(control.sliced) + len(step.node.users))
    if moved + FIXED_WORDS > MOST_ARGUMENTS:
        return False
    if control.kind == "branch" and not _fits_predicate(control.predicate, in_sight):
        return False
    if control.kind == "scan" and not control.sliced:
        return False
    results = _used(step.node) if control.kind == "branch" else step.node.meta["val"]
    graphs = [body.program.graph for body in step.bodies]
    return (
        all(_is_plain(value) and symbol_names(value) <= in_sight for value in results)
        and all(_takes(graph, control) for graph in graphs)
        and all(_known(graph, in_sight) for graph in graphs)
        and _tests(graphs[0], control)
    )


def free_symbols(step: CallStep) -> list[sympy.Symbol]:
    """The symbols in the bodies' values, of nested bodies too, that no input of theirs defines, by
    name."""
    found: set[sympy.Symbol] = set()
    for body in step.bodies:
        graph = body.program.graph
        own = {s for node in placeholders(graph) for s, _, _ in definitions(node.meta.get("val"))}
        used = {s for node in graph.nodes for s in symbols_in(node.meta.get("val"))}
        for inner in body.steps:
            if isinstance(inner, CallStep):
                used.update(free_symbols(inner))
        found |= used - own
    return sorted(found, key=lambda symbol: symbol.name)


def _used(call: fx.Node) -> list[Any]:
    return [user.meta["val"] for user in call.users]


def _fits_predicate(predicate: Any, in_sight: set[str]) -> bool:
    value = predicate.meta.get("val") if isinstance(predicate, fx.Node) else predicate
    if isinstance(value, torch.Tensor):
        return _is_flag(value)
    if isinstance(value, torch.SymBool):
        return symbol_names(value) <= in_sight
    return isinstance(value, bool)


def _is_flag(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype is torch.bool and value.dim() == 0


def _tests(graph: fx.Graph, control: Control) -> bool:
    """Does the first body of a loop compute the loop condition and nothing else?"""
    (test, *more) = output_values(graph)
    return control.kind != "loop" or (
        not more and isinstance(test, fx.Node) and _is_flag(test.meta["val"])
    )


def _is_plain(value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.layout is torch.strided
        and not value.is_neg()
        and not value.is_complex()
    )


def _takes(graph: fx.Graph, control: Control) -> bool:
    """Do the operands have the layouts that the body expects?"""
    inputs = placeholders(graph)
    carried = len(control.carried)
    for k, (inner, outer) in enumerate(zip(inputs, control.operands(), strict=True)):
        if not isinstance(outer, fx.Node):
            return False
        value: Any = inner.meta["val"]
        given: Any = outer.meta.get("val")
        if isinstance(value, torch.SymInt):
            if k < carried or not isinstance(given, torch.SymInt):
                return False
            continue
        if not _is_plain(value) or not _is_plain(given) or value.dtype is not given.dtype:
            return False
        lead = int(control.is_sliced(k))
        same = same_numbers(value.shape, given.shape[lead:]) and same_numbers(
            value.stride(), given.stride()[lead:]
        )
        if not same or (k < carried and _overlaps(inner)):
            return False
    return True


def _overlaps(node: fx.Node) -> bool:
    sizes = zip(shape_of(node), strides_of(node), strict=True)
    return any(stride == 0 and size != 1 for size, stride in sizes)


def _known(graph: fx.Graph, in_sight: set[str]) -> bool:
    return all(symbol_names(node.meta.get("val")) <= in_sight for node in graph.nodes)
