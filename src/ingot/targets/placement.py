"""Splits a functional graph by a target's claims into stages that run on host and device in turn.
The stages are as few as the claims allow: an op joins the earliest stage of its side at which all
of its inputs are available. Values that no device op reads stay on the host.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from ingot.program.graph import copy_module, output_values
from ingot.program.program import Program, program_from_fx


@dataclass(frozen=True)
class Stage:
    """Ops that run together on one side."""

    device: bool
    program: Program
    inputs: tuple[str, ...]
    """Names of the values it reads."""
    outputs: tuple[str, ...]
    """Names of the values that other stages read, one for each output of its program."""
    ops: int


Claim = Callable[[Node], str]
"""The reason against running an op on the device; empty if it can."""


def split(program: Program, claim: Claim) -> tuple[list[Stage], dict[str, str]]:
    """The stages, and the reason for each op that stays on the host."""
    module = copy_module(program.graph_module)
    reasons = _reasons(module.graph, claim)
    places = _places(module.graph, reasons)
    last = max(places.values(), default=0)
    stages = []
    for number in range(last + 1):
        nodes = [n for n, place in places.items() if place == number and n.op == "call_function"]
        if nodes:
            stages.append(_stage(module, nodes, number % 2 == 1))
    return stages, {name: why for name, why in reasons.items() if why}


def _reasons(graph: Graph, claim: Claim) -> dict[str, str]:
    """Why each op stays on the host; an item of a tuple follows the op that makes the tuple."""
    reasons: dict[str, str] = {}
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if node.target is operator.getitem:
            reasons[node.name] = reasons.get(node.args[0].name, "")
        elif not isinstance(node.meta.get("val"), torch.Tensor | tuple | list):
            reasons[node.name] = "it does not return a tensor"
        else:
            reasons[node.name] = claim(node)
    return reasons


def _places(graph: Graph, reasons: dict[str, str]) -> dict[Node, int]:
    """The stage of each node: even stages run on the host, odd ones on the device."""
    places: dict[Node, int] = {}
    for node in graph.nodes:
        if node.op == "output":
            continue
        earliest = max((places[source] for source in node.all_input_nodes), default=0)
        side = 1 if node.op == "call_function" and not reasons[node.name] else 0
        whole = places.get(node.args[0]) if node.target is operator.getitem else None
        places[node] = whole if whole is not None else earliest + (earliest % 2 != side)
    return places


def _stage(module: GraphModule, nodes: list[Node], device: bool) -> Stage:
    inside = set(nodes)
    sources = dict.fromkeys(s for node in nodes for s in node.all_input_nodes if s not in inside)
    inputs = [source for source in sources if source.op != "get_attr"]
    graph = Graph()
    known: dict[Node, Node] = {}
    for source in inputs:
        known[source] = graph.placeholder(source.name)
        known[source].meta = dict(source.meta)
    for source in sources:
        if source.op == "get_attr":
            known[source] = graph.get_attr(str(source.target))
            known[source].meta = dict(source.meta)
    for node in nodes:
        known[node] = graph.node_copy(node, known.__getitem__)
    results = [n for n in nodes if _is_read_outside(n, inside)]
    graph.output(tuple(known[node] for node in results))
    inner = program_from_fx(GraphModule(module, graph))
    names = tuple(node.name for node in inputs)
    return Stage(device, inner, names, tuple(node.name for node in results), len(nodes))


def _is_read_outside(node: Node, inside: set[Node]) -> bool:
    if isinstance(node.meta.get("val"), tuple | list):
        return False
    return any(user not in inside for user in node.users)


def returned_names(program: Program) -> list[Any]:
    """For each output: the name of its value, or the constant itself in a tuple of its own."""
    values = output_values(program.graph)
    return [value.name if isinstance(value, Node) else (value,) for value in values]
