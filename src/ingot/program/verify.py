"""The verifier of Programs. A Program is functional and closed, its signature fits the graph, and
its ops are legal at its level. A VerifyError shows the program around the offending node, and the
user's line.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from ingot.errors import VerifyError
from ingot.program.graph import (
    memory_root,
    other_numbers,
    output_node,
    output_values,
    placeholders,
    same_numbers,
)
from ingot.program.mode_regions import is_region, region_body, region_parts
from ingot.program.program import Level, Program
from ingot.program.source import node_place
from ingot.program.spec import illegal
from ingot.program.text import is_reference, node_line, value_names

_AROUND = 3


def verify(program: Program) -> None:
    """Raises VerifyError at the first violation."""
    _verify_inputs(program)
    seen: set[Node] = set()
    for node in program.graph.nodes:
        _verify_order(program, node, seen)
        _verify_node(program, node)
        seen.add(node)
    if program.level is Level.PRE_DISPATCH:
        _verify_bodies(program, program.graph_module)
    _verify_outputs(program)


def _verify_inputs(program: Program) -> None:
    nodes, specs = placeholders(program.graph), program.signature.inputs
    if [node.name for node in nodes] != [spec.name for spec in specs]:
        raise VerifyError(
            f"the graph's inputs are {[node.name for node in nodes]}, "
            f"the signature's {[spec.name for spec in specs]}"
        )
    for node, spec in zip(nodes, specs):
        is_tensor = isinstance(node.meta.get("val"), torch.Tensor)
        if is_tensor == (spec.kind == "symbol"):
            raise _error(program.graph, node, f"the signature calls this input a {spec.kind}")


def _verify_order(program: Program, node: Node, seen: set[Node]) -> None:
    for source in node.all_input_nodes:
        if source not in seen:
            raise _error(program.graph, node, f"it uses {source.name}, which comes after it")


def _verify_node(program: Program, node: Node) -> None:
    if node.op in ("placeholder", "output"):
        pass
    elif node.op == "get_attr":
        _verify_attribute(program, node)
        return
    elif node.op != "call_function":
        raise _error(program.graph, node, f"a {node.op} node has no place in a functional graph")
    elif reason := illegal(node, program.level):
        raise _error(program.graph, node, reason)
    if "val" not in node.meta and _makes_value(node) and not _known_by_parts(node):
        raise _error(program.graph, node, 'its value has no meta["val"]')


def _verify_bodies(program: Program, module: GraphModule) -> None:
    """Check the bodies of regions and branches like the program itself, at any depth."""
    for node in module.graph.nodes:
        if is_region(node):
            _verify_region(program, node)
        found = module.get_submodule(node.target) if is_reference(node) else None
        if not isinstance(found, GraphModule):
            continue
        for inner in found.graph.nodes:
            if inner.op == "call_function" and (reason := illegal(inner, program.level)):
                raise _error(found.graph, inner, reason)
        _verify_bodies(program, found)


def _verify_region(program: Program, node: Node) -> None:
    body = region_body(node)
    _, _, given = region_parts(node)
    wanted = placeholders(body.graph)
    if len(given) != len(wanted):
        raise _error(node.graph, node, f"{len(given)} inputs for a body that takes {len(wanted)}")
    for value, place in zip(given, wanted):
        if not isinstance(value, Node) or not _same_type(value.meta["val"], place.meta["val"]):
            raise _error(node.graph, node, f"{value} does not match {place} of the body")
    outputs = len(output_values(body.graph))
    for user in node.users:
        if user.target is not operator.getitem or not 0 <= int(user.args[1]) < outputs:  # type: ignore[arg-type]
            raise _error(node.graph, user, f"it is not an item of the region's {outputs} outputs")


def _same_type(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.dtype == b.dtype and same_numbers(a.shape, b.shape)
    return isinstance(a, torch.Tensor) == isinstance(b, torch.Tensor)


def _makes_value(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return node.op != "output" and (schema is None or bool(schema.returns))


def _known_by_parts(node: Node) -> bool:
    """The partitioner's own ops (saved random states …) have no metadata, but each of their used
    items does."""
    parts = list(node.users)
    return bool(parts) and all(p.target is operator.getitem and "val" in p.meta for p in parts)


def _verify_attribute(program: Program, node: Node) -> None:
    constant = program.constants.get(str(node.target))
    if constant is None:
        found = program.graph_module.get_submodule(str(node.target))
        if isinstance(found, GraphModule):
            return
        raise _error(program.graph, node, f"{node.target} is neither a constant nor a subgraph")
    val = node.meta.get("val")
    if not isinstance(val, torch.Tensor):
        raise _error(program.graph, node, 'its value has no meta["val"]')
    if val.dtype != constant.dtype or tuple(val.shape) != tuple(constant.shape):
        raise _error(
            program.graph, node, f"{node.target} is {constant.dtype}{list(constant.shape)}"
        )


def _verify_outputs(program: Program) -> None:
    values: Sequence[Any] = output_values(program.graph)
    specs = program.signature.outputs
    end = output_node(program.graph)
    if len(values) != len(specs):
        raise _error(program.graph, end, f"{len(values)} outputs, {len(specs)} in the signature")
    kinds = [spec.kind for spec in specs]
    if kinds != sorted(kinds, reverse=True):
        raise _error(program.graph, end, "a mutation comes before an output of the user's")
    inputs = placeholders(program.graph)
    for i, (value, spec) in enumerate(zip(values, specs)):
        if spec.kind == "mutation":
            _verify_mutation(program, end, i, value, inputs)
        elif isinstance(value, Node):
            _verify_alias(program, end, i, value, inputs)


def _verify_mutation(
    program: Program, end: Node, i: int, value: Any, inputs: Sequence[Node]
) -> None:
    target = program.signature.outputs[i].target
    if target is None or not 0 <= target < len(inputs):
        raise _error(program.graph, end, f"output {i} is a mutation of input {target}")
    if not isinstance(value, Node):
        raise _error(program.graph, end, f"output {i} is a mutation, but {value!r} is not a tensor")
    new, old = value.meta.get("val"), inputs[target].meta.get("val")
    if not isinstance(new, torch.Tensor) or not isinstance(old, torch.Tensor):
        raise _error(program.graph, end, f"output {i} is a mutation of or by a non-tensor")
    if new.dtype != old.dtype or other_numbers(new.shape, old.shape):
        raise _error(
            program.graph, end, f"output {i} has not the dtype and shape of input {target}"
        )


def _verify_alias(program: Program, end: Node, i: int, value: Node, inputs: Sequence[Node]) -> None:
    root = memory_root(value)
    shared = inputs.index(root) if root in inputs else None
    expected = program.signature.outputs[i].alias_of
    if isinstance(root.meta.get("val"), torch.Tensor) and shared != expected:
        raise _error(
            program.graph, end, f"output {i} shares memory with input {shared}, not with {expected}"
        )


def _error(graph: Graph, node: Node, why: str) -> VerifyError:
    return VerifyError(f"{why}\n{_excerpt(graph, node)}", place=node_place(node))


def _excerpt(graph: Graph, culprit: Node) -> str:
    names = value_names(graph)
    nodes = list(graph.nodes)
    at = nodes.index(culprit)
    lines = []
    for node in nodes[max(0, at - _AROUND) : at + _AROUND + 1]:
        text = "  return" if node.op == "output" else node_line(node, names)
        lines.append((">" if node is culprit else " ") + text)
    return "\n".join(lines)
