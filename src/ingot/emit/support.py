"""Checks a legalized program for ops and values that a dialect cannot express, before any pipeline
runs. The tables hold what no legalization can fix. Ops that a pipeline rejects are found by
`probe`, which lowers each kind of op on its own, so that one error lists all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._ops import HigherOrderOperator, OpOverload
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from ingot.emit.assertions import ASSERTIONS
from ingot.emit.declared_calls import CALL
from ingot.emit.pairs import has_pair_form, touches_complex
from ingot.emit.problems import Problem, problem
from ingot.passes.expand import inputs_and_key
from ingot.program.program import InputSpec, Level, OutputSpec, Program, Signature

Check = Callable[[Node], tuple[str, str] | None]
"""The reason against lowering the node and a hint, or None."""


def check(program: Program, dialect: str) -> list[Problem]:
    found = []
    for node in program.graph.nodes:
        if node.op not in ("call_function", "placeholder") or CALL in node.meta:
            continue
        for rule in _CHECKS[dialect]:
            told = rule(node)
            if told is not None:
                found.append(problem(node, *told))
                break
    return found


def _custom_op(node: Node) -> tuple[str, str] | None:
    target = node.target
    if isinstance(target, OpOverload) and target.namespace not in ("aten", "prims"):
        return (
            "a custom operation has no form in MLIR",
            "decompositions={op: function} decomposes it, partial=True keeps it as a call",
        )
    return None


def _wide_unsigned(node: Node) -> tuple[str, str] | None:
    val = node.meta.get("val")
    if isinstance(val, torch.Tensor) and val.dtype in _WIDE_UNSIGNED:
        return ("the torch dialect has no unsigned integers of more than 8 bits", "use int64")
    return None


_WIDE_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)


def _numbers(node: Node) -> list[Any]:
    val = node.meta.get("val")
    values = val if isinstance(val, tuple | list) else (val,)
    sizes: list[Any] = []
    for value in values:
        sizes += value.shape if isinstance(value, torch.Tensor) else [value]
    return [n for n in sizes if isinstance(n, torch.SymInt)]


def _size_from_values(node: Node) -> tuple[str, str] | None:
    if any(free_unbacked_symbols(n) for n in _numbers(node)):
        return (
            "its size depends on values, and the dialect has none such",
            "use torch.where or a fixed size with a mask, or the linalg dialect",
        )
    return None


def _computed_size(node: Node) -> tuple[str, str] | None:
    """Ops that make tensors of computed sizes are calls with bodies by now (`dynamic_sizes.py`)."""
    if node.op != "call_function" or isinstance(node.meta.get("val"), torch.SymInt):
        return None
    if any(isinstance(source.meta.get("val"), torch.SymInt) for source in node.all_input_nodes):
        return (
            "it takes a dynamic size that the dialect cannot compute",
            "give the dimension an upper bound, as in Dim('n', max=1024), or a fixed size",
        )
    return None


def _ordered_integers(node: Node) -> tuple[str, str] | None:
    if node.target not in _ORDERING or node.args[0].meta["val"].dtype.is_floating_point:  # type: ignore[union-attr]
        return None
    return (
        "it orders integers, and the dialect's lowering orders floating-point numbers only",
        "order them as float32 if they are below 2**24, or as float64",
    )


_ORDERING = (torch.ops.aten.sort.default, torch.ops.aten.sort.stable, torch.ops.aten.topk.default)


def _far_index(node: Node) -> tuple[str, str] | None:
    """The dialect's indices are 32-bit integers; an index is smaller than the size of its dim."""
    if node.target not in _INDEXING:
        return None
    source: Any = node.args[0]
    if all(isinstance(n, torch.SymInt) or n < 1 << 31 for n in source.meta["val"].shape):
        return None
    return ("its indices may need more than 32 bits", "split the tensor, or use the linalg dialect")


_INDEXING = (
    torch.ops.aten.index.Tensor,
    torch.ops.aten.gather.default,
    torch.ops.aten.index_select.default,
    torch.ops.aten.embedding.default,
)


def _assertion(node: Node) -> tuple[str, str] | None:
    if node.target not in ASSERTIONS:
        return None
    return ("the dialect has no checks that run", "checks=False drops them; linalg keeps them")


def _control_flow(node: Node) -> tuple[str, str] | None:
    if isinstance(node.target, HigherOrderOperator):
        return (
            "torch-mlir has no lowering of control flow to this dialect",
            "use torch.where, or the linalg dialect",
        )
    return None


def _complex_number(node: Node) -> tuple[str, str] | None:
    """Reports the ops without a form as pairs of reals; one of them keeps all others complex."""
    if touches_complex(node) and not has_pair_form(node):
        return (
            "the dialect has no complex arithmetic, and this has no form as pairs of reals",
            "write it with real and imaginary parts, or use the linalg dialect",
        )
    return None


_CHECKS: dict[str, tuple[Check, ...]] = {
    "torch": (_custom_op, _wide_unsigned),
    "linalg": (_custom_op, _wide_unsigned),
    "stablehlo": (
        _custom_op,
        _wide_unsigned,
        _assertion,
        _size_from_values,
        _control_flow,
        _complex_number,
    ),
    "tosa": (
        _custom_op,
        _wide_unsigned,
        _assertion,
        _size_from_values,
        _computed_size,
        _ordered_integers,
        _far_index,
        _control_flow,
        _complex_number,
    ),
}


def probe(program: Program, refuses: Callable[[Program], str]) -> list[Problem]:
    """A problem for every op that `refuses` rejects on its own."""
    found, tried = [], {}
    for node in program.graph.nodes:
        plain = node.op == "call_function" and isinstance(node.target, OpOverload)
        if not plain or CALL in node.meta:
            continue
        inputs, key = inputs_and_key(node)
        if key not in tried:
            tried[key] = refuses(_alone(program, node, inputs))
        if tried[key]:
            found.append(problem(node, tried[key]))
    return found


def _alone(program: Program, node: Node, inputs: list[Node]) -> Program:
    """A program of this one op."""
    graph = Graph()
    known = {}
    for source in inputs:
        known[source] = graph.placeholder(source.name)
        known[source].meta["val"] = source.meta["val"]
    copy = graph.node_copy(node, known.__getitem__)
    results = [copy]
    if isinstance(node.meta.get("val"), tuple | list):
        results = [graph.node_copy(user, lambda _: copy) for user in node.users]
    graph.output(tuple(results))
    kind = [isinstance(source.meta["val"], torch.Tensor) for source in inputs]
    specs = tuple(InputSpec(s.name, "user" if k else "symbol") for s, k in zip(inputs, kind))
    outputs = tuple(OutputSpec("user") for _ in results)
    module = GraphModule(program.graph_module, graph)
    return Program(module, Signature(specs, outputs), {}, program.symbols, Level.ATEN)
