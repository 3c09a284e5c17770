"""Replace a call by one of several arms, each a condition and a graph: the only arm is inlined,
several become nested `torch.cond`. All branches take the inputs of the call, followed by the
symbols that the conditions read.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch.fx import Graph, GraphModule, Node

from ingot.dispatch.conditions import symbol_node
from ingot.dispatch.ranges import Row
from ingot.dispatch.trace import OperatorCall
from ingot.passes.base import ProgramDraft
from ingot.passes.facts import predicate
from ingot.passes.inline import inlined
from ingot.program.graph import output_values, placeholders


@dataclass(frozen=True)
class Arm:
    """One branch of a call."""

    box: tuple[sympy.Basic, ...]
    """Conditions on the sizes in its box."""
    more: tuple[Any, ...]
    """Further conditions, assumed by the candidate."""
    module: GraphModule
    row: Row

    @property
    def condition(self) -> tuple[Any, ...]:
        """Empty for the last arm."""
        return (*self.box, *self.more)


class CondChain:
    """Builds nested `torch.cond` in front of a call."""

    def __init__(self, draft: ProgramDraft, node: Node, call: OperatorCall):
        self.draft = draft
        self.node = node
        self.call = call
        value = node.meta["val"]
        self.values = tuple(value) if isinstance(value, tuple | list) else (value,)

    def built(self, arms: Sequence[Arm]) -> list[Any]:
        if len(arms) == 1:
            return inlined(self.draft, self.node, arms[0].module, self.call.nodes)
        symbols = sorted(
            {s for arm in arms for fact in arm.condition for s in fact.free_symbols},
            key=lambda s: s.name,
        )
        sizes = [symbol_node(self.draft, self.node, symbol) for symbol in symbols]
        operands = [*self.call.nodes, *sizes]
        graph = self.draft.graph
        with graph.inserting_before(self.node):
            return self._cond(graph, self.draft.module, arms, operands, symbols)

    def _cond(
        self,
        graph: Graph,
        module: Any,
        arms: Sequence[Arm],
        operands: Sequence[Node],
        symbols: Sequence[sympy.Symbol],
    ) -> list[Any]:
        first, *rest = arms
        sizes = dict(zip(symbols, operands[len(operands) - len(symbols) :]))
        asked = predicate(graph, first.condition, sizes)
        sides = [
            self._branch([first], operands, symbols),
            self._branch(rest, operands, symbols),
        ]
        names = [
            _attach(module, f"{side}_graph", body) for side, body in zip(("true", "false"), sides)
        ]
        references = [graph.get_attr(name) for name in names]
        cond = graph.call_function(
            torch.ops.higher_order.cond, (asked, *references, tuple(operands))
        )
        cond.meta = {**self.node.meta, "val": self.values}
        return _items(graph, cond, self.values)

    def _branch(
        self, arms: Sequence[Arm], operands: Sequence[Node], symbols: Sequence[sympy.Symbol]
    ) -> GraphModule:
        graph = Graph()
        module = GraphModule(torch.nn.Module(), graph)
        places = []
        for i, operand in enumerate(operands):
            place = graph.placeholder(f"arg{i}")
            place.meta["val"] = operand.meta["val"]
            places.append(place)
        if len(arms) > 1:
            results = self._cond(graph, module, arms, places, symbols)
        else:
            results = _copied(graph, module, arms[0].module, places)
        graph.output(tuple(results))
        module.graph = graph
        module.recompile()
        return module


def _copied(
    graph: Graph, module: GraphModule, body: GraphModule, places: Sequence[Node]
) -> list[Any]:
    copies: dict[Node, Node] = dict(zip(placeholders(body.graph), places))
    for node in body.graph.nodes:
        if node.op == "get_attr":
            name = _attach(module, "part", getattr(body, str(node.target)))
            copies[node] = graph.get_attr(name)
            copies[node].meta = dict(node.meta)
        elif node.op == "call_function":
            copies[node] = graph.node_copy(node, copies.__getitem__)
    return [copies[v] if isinstance(v, Node) else v for v in output_values(body.graph)]


def _attach(module: Any, stem: str, value: Any) -> str:
    number = 0
    while hasattr(module, name := f"{stem}_{number}"):
        number += 1
    if isinstance(value, torch.Tensor):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)
    return name


def whole_call(call: OperatorCall) -> GraphModule:
    """A graph that contains only the call."""
    graph = Graph()
    places = []
    for i, value in enumerate(call.inputs):
        places.append(graph.placeholder(f"arg{i}"))
        places[i].meta["val"] = value
    node = graph.call_function(call.dispatch.target, tuple(call.with_inputs(places).values()))
    form = node.meta["val"] = call.dispatch.target(*call.bound.values())
    results = [node] if isinstance(form, torch.Tensor) else _items(graph, node, form)
    graph.output(tuple(results))
    return GraphModule(torch.nn.Module(), graph)


def _items(graph: Graph, node: Node, values: Sequence[Any]) -> list[Node]:
    found = []
    for i, value in enumerate(values):
        item = graph.call_function(operator.getitem, (node, i))
        item.meta = {**node.meta, "val": value}
        found.append(item)
    return found
