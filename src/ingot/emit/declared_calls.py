"""Ops emitted as calls. A node that the dialect's pipelines do not take becomes a `func.call` of a
declared function, with the op and its non-tensor arguments as attributes of the declaration. The
reader of the module defines the function; ingot itself defines loops, after the pipelines
(`while_loops.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.fx import Node
from torch_mlir import ir

from ingot.program.graph import copy_module
from ingot.program.program import Program
from ingot.program.text import target_name

CALL = "ingot_call"
"""Key of a node's meta that makes the node a call; its value is the name of the function."""


@dataclass(frozen=True)
class Text:
    """The user's MLIR text for an operation: one function in the target dialect."""

    text: str


BODY = "ingot_body"
"""Key of a node's meta for the body of the function, if it is known (`function_bodies.py`)."""


def import_call(
    importer: Any,
    loc: ir.Location,
    node: Node,
    operands: Sequence[Node],
    attributes: dict[str, str],
) -> None:
    """Emit the call and declare its function."""
    name = str(node.meta[CALL])
    val = node.meta["val"]
    several = isinstance(val, tuple | list)
    results = [importer._cc.value_info_to_type(v) for v in (val if several else (val,))]
    values = [importer._import_argument(loc, operand) for operand in operands]
    _declare(importer, loc, name, [v.type for v in values], results, attributes)
    with loc:
        call = ir.Operation.create(
            "func.call",
            attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
            results=results,
            operands=values,
        )
    if several:
        importer._multi_result_nodes.add(node)
    for i, value in enumerate(call.results):
        importer.bind_node_value(node, value, i)


def _declare(
    importer: Any,
    loc: ir.Location,
    name: str,
    inputs: list[ir.Type],
    results: list[ir.Type],
    attributes: dict[str, str],
) -> None:
    kind = ir.FunctionType.get(inputs, results, context=loc.context)
    with loc, importer.fx_importer._m_ip:
        function = ir.Operation.create(
            "func.func",
            attributes={
                "sym_name": ir.StringAttr.get(name),
                "function_type": ir.TypeAttr.get(kind),
                "sym_visibility": ir.StringAttr.get("private"),
                **{key: ir.StringAttr.get(text) for key, text in attributes.items()},
            },
            regions=1,
        )
    importer.fx_importer.symbol_table.insert(function)


def call_attributes(node: Node) -> dict[str, str]:
    """The op and its non-tensor arguments."""
    arguments = [repr(a) for a in node.args if not isinstance(a, Node)]
    arguments += [f"{key}={value!r}" for key, value in node.kwargs.items()]
    return {"ingot.op": target_name(node.target), "ingot.arguments": ", ".join(arguments)}


def with_texts(program: Program, texts: Mapping[Any, str]) -> Program:
    """The program with calls of the user's functions in place of their ops."""
    if not texts:
        return program
    module = copy_module(program.graph_module)
    for node in module.graph.nodes:
        if node.op == "call_function" and node.target in texts:
            node.meta = {
                **node.meta,
                CALL: f"ingot_own_{node.name}",
                BODY: Text(texts[node.target]),
            }
    return replace(program, graph_module=module)


def as_calls(program: Program, names: Set[str]) -> Program:
    """The program with these nodes marked as calls, if all of their results are tensors."""
    module = copy_module(program.graph_module)
    for i, node in enumerate(module.graph.nodes):
        if node.name in names and node.op == "call_function" and _makes_tensors(node):
            name = re.sub(r"\W", "_", target_name(node.target))
            node.meta = {**node.meta, CALL: f"{name}_{i}"}
    return replace(program, graph_module=module)


def _makes_tensors(node: Node) -> bool:
    val = node.meta.get("val")
    values = val if isinstance(val, tuple | list) else (val,)
    return all(isinstance(v, torch.Tensor) for v in values)


def has_calls(program: Program) -> bool:
    return any(CALL in node.meta for node in program.graph.nodes)
