"""Where a dialect's numbers part from eager's. Comes in: a program, a dialect, arguments; goes out:
the first node, in program order, whose value differs, or None. The program is written and run once,
with every value of its legalized graph as a result; the same graph is run under PyTorch beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node

from ingot.emit import isolate
from ingot.emit.emit import emit_legal
from ingot.emit.legalize import legalize
from ingot.emit.levels import find_dialect
from ingot.emit.verify import Difference, coarsest, compare, copied, run_module
from ingot.errors import MismatchError, Place
from ingot.program.call import bind
from ingot.program.graph import copy_module, output_node
from ingot.program.program import OutputSpec, Program, Signature
from ingot.program.source import node_place
from ingot.program.text import target_name, value_type

aten = torch.ops.aten

UNINITIALIZED = (aten.empty.memory_format, aten.empty_strided.default)


@dataclass(frozen=True)
class Culprit:
    """The first value that differs."""

    op: str
    value: str
    difference: Difference
    place: Place | None

    def as_text(self) -> str:
        return f"{self.op} -> {self.value}: {self.difference.as_text()}"


def verify_in_lockstep(
    program: Program, dialect: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    culprit = first_difference(program, dialect, args, kwargs)
    if culprit is not None:
        raise MismatchError(f"{dialect}, node by node: {culprit.as_text()}", place=culprit.place)


def first_difference(
    program: Program,
    dialect: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    limits: isolate.Limits = isolate.USUAL,
) -> Culprit | None:
    target = find_dialect(dialect)
    legal, nodes = _with_all_values(legalize(program, target, {}))
    module = emit_legal(legal, target, limits)
    values = [copied(v) for v in bind(program, args, kwargs)]
    inputs = dict(zip([spec.name for spec in program.signature.inputs], values))
    got = run_module(module, inputs, limits)
    with torch.no_grad():
        eager = _Recorder(legal.graph_module)
        eager.run(*[copied(inputs[spec.name]) for spec in legal.signature.inputs])
    tolerance = coarsest(program)
    for node, value in zip(nodes, got):
        difference = compare(node.name, value, eager.values[node.name], tolerance)
        if difference.why:
            val = value_type(node.meta["val"])
            return Culprit(target_name(node.target), val, difference, node_place(node))
    return None


def _with_all_values(program: Program) -> tuple[Program, list[Node]]:
    """The program with every tensor it computes as an output."""
    module = copy_module(program.graph_module)
    nodes = [
        node
        for node in module.graph.nodes
        if node.op == "call_function"
        and isinstance(node.meta.get("val"), torch.Tensor)
        and node.target not in UNINITIALIZED
    ]
    output_node(module.graph).args = (tuple(nodes),)
    outputs = tuple(OutputSpec("user") for _ in nodes)
    signature = Signature(program.signature.inputs, outputs)
    return replace(program, graph_module=module, signature=signature), nodes


class _Recorder(Interpreter):
    """Runs a graph under PyTorch and keeps every value. In MLIR there are no strides, so a view of
    what happens to be strided otherwise here is a copy."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.values: dict[str, Any] = {}

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        self.values[n.name] = value
        return value

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is aten.view.default:
            target = aten.reshape.default
        return super().call_function(target, args, kwargs)
