"""Finds the first operation, in program order, whose value differs from eager's. The program is
emitted and run once with every value that it computes as an output, and compared with a run by
PyTorch. This finds wrong lowerings in ingot's legalization as well as in a pipeline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from ingot.emit import isolate
from ingot.emit.comparison import coarsest, copied, from_pairs, run_module
from ingot.emit.difference import Difference, compare
from ingot.emit.emit import to_mlir
from ingot.emit.legalize import Expansion
from ingot.emit.levels import Dialect, find_dialect
from ingot.errors import MismatchError, Place
from ingot.program.call import bind
from ingot.program.graph import copy_module, output_node
from ingot.program.program import OutputSpec, Program, Signature
from ingot.program.source import node_place
from ingot.program.text import target_name, value_type

aten = torch.ops.aten

UNINITIALIZED = (
    aten.empty.memory_format, aten.empty_strided.default, aten.empty_like.default,
    aten.empty_permuted.default, aten.new_empty.default, aten.new_empty_strided.default,
)  # fmt: skip


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
    program: Program,
    dialect: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    decompositions: Mapping[Any, Expansion] | None = None,
) -> None:
    culprit = first_difference(program, dialect, args, kwargs, decompositions)
    if culprit is not None:
        raise MismatchError(f"{dialect}, node by node: {culprit.as_text()}", place=culprit.place)


def first_difference(
    program: Program,
    dialect: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    decompositions: Mapping[Any, Expansion] | None = None,
    limits: isolate.Limits = isolate.USUAL,
) -> Culprit | None:
    watched, nodes = _with_all_values(program, find_dialect(dialect))
    module = to_mlir(watched, dialect, limits, decompositions)
    inputs = [copied(v) for v in bind(program, args, kwargs)]
    names = [spec.name for spec in program.signature.inputs]
    got = run_module(module, dict(zip(names, inputs)), limits)
    with torch.no_grad():
        eager = _Recorder(program.graph_module)
        eager.run(*map(copied, inputs))
    tolerance = coarsest(program)
    for i, value in zip(module.returned, got):
        want = eager.values[nodes[i].name]
        difference = compare(nodes[i].name, from_pairs(value, want), want, tolerance)
        if difference.why:
            kind = value_type(nodes[i].meta["val"])
            return Culprit(target_name(nodes[i].target), kind, difference, node_place(nodes[i]))
    return None


def _with_all_values(program: Program, dialect: Dialect) -> tuple[Program, list[Node]]:
    """The program with every tensor that it computes and uses as an output."""
    module = copy_module(program.graph_module)
    nodes = [node for node in module.graph.nodes if _is_watched(node, dialect)]
    output_node(module.graph).args = (tuple(nodes),)
    outputs = tuple(OutputSpec("user") for _ in nodes)
    signature = Signature(program.signature.inputs, outputs)
    return replace(program, graph_module=module, signature=signature), nodes


def _is_watched(node: Node, dialect: Dialect) -> bool:
    """Excludes values of a data-dependent size that the dialect cannot express: legalization may
    eliminate such an intermediate value, but not an output."""
    val = node.meta.get("val")
    if node.op != "call_function" or not isinstance(val, torch.Tensor) or not node.users:
        return False
    if node.target in UNINITIALIZED:
        return False
    return dialect.sizes or not any(
        free_unbacked_symbols(n) for n in val.shape if isinstance(n, torch.SymInt)
    )


class _Recorder(Interpreter):
    """Runs a graph under PyTorch and keeps every value."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.values: dict[str, Any] = {}

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        self.values[n.name] = value
        return value
