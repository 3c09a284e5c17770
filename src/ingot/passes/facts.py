"""Facts about symbols. `Known` combines symbol ranges with facts learned so far and decides whether
another fact holds, only where that follows. `predicate` emits a node that tests facts at run time.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import sympy
import torch
from torch.fx import Graph, Node
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.reference import PythonReferenceAnalysis
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

_OPPOSITES = {sympy.Le: sympy.Gt, sympy.Lt: sympy.Ge, sympy.Ge: sympy.Lt, sympy.Gt: sympy.Le}


@dataclass(frozen=True)
class Known:
    ranges: Mapping[sympy.Symbol, ValueRanges[Any]]
    facts: tuple[sympy.Basic, ...] = ()
    """In the order in which they were learned."""

    def decide(self, fact: Any) -> bool | None:
        """Whether the fact holds; None if that is undecided."""
        if isinstance(fact, bool) or fact in (sympy.true, sympy.false):
            return bool(fact)
        if isinstance(fact, sympy.And):
            parts = [self.decide(part) for part in fact.args]
            return False if False in parts else None if None in parts else True
        if fact in self.facts:
            return True
        if opposite(fact) in self.facts:
            return False
        found = bound_sympy(fact, dict(self.ranges))
        return bool(found.lower) if found.is_singleton() else None

    def open_part(self, fact: Any) -> Any:
        """The first undecided part of a fact."""
        if not isinstance(fact, sympy.And):
            return fact
        return next(part for part in _in_order(fact.args) if self.decide(part) is None)

    def learned(self, *facts: Any) -> Known:
        known = self
        for fact in facts:
            known = known._with(fact)
        return known

    def _with(self, fact: Any) -> Known:
        if isinstance(fact, sympy.And):
            return self.learned(*_in_order(fact.args))
        ranges = dict(self.ranges)
        bounds = _bounds(fact)
        if bounds is not None and fact.lhs in ranges:
            ranges[fact.lhs] = ranges[fact.lhs] & bounds
        return Known(ranges, (*self.facts, fact))


def opposite(fact: Any) -> Any:
    other = _OPPOSITES.get(type(fact))
    return sympy.Not(fact) if other is None else other(*fact.args)


def predicate(
    graph: Graph, facts: Sequence[sympy.Basic], symbols: Mapping[sympy.Symbol, Node]
) -> Node:
    """Emit a node that tests whether all facts hold."""
    tracer = torch.fx.proxy.GraphAppendingTracer(graph)
    known = {s: torch.fx.Proxy(node, tracer) for s, node in symbols.items()}
    before = set(graph.nodes)
    asked = [sympy_interp(PythonReferenceAnalysis, known, fact) for fact in facts]
    result = reduce(operator.and_, asked)
    for node in graph.nodes:
        if node not in before:
            args = torch.fx.node.map_arg(node.args, lambda n: n.meta["val"])
            node.meta["val"] = node.target(*args)
    return result.node


def _in_order(facts: Iterable[Any]) -> list[Any]:
    return sorted(facts, key=str)


def _bounds(fact: Any) -> ValueRanges[Any] | None:
    """The range that the fact implies for the symbol on its left-hand side, if any."""
    if not isinstance(fact, sympy.Rel) or not fact.lhs.is_Symbol or not fact.rhs.is_Integer:
        return None
    number = int(fact.rhs)
    match fact:
        case sympy.Le():
            return ValueRanges(-int_oo, number)
        case sympy.Lt():
            return ValueRanges(-int_oo, number - 1)
        case sympy.Ge():
            return ValueRanges(number, int_oo)
        case sympy.Gt():
            return ValueRanges(number + 1, int_oo)
    return None
