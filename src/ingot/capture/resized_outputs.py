"""Ops whose `out=` argument is resized: `torch.add(x, y, out=torch.empty(0))`. Functionalization
gives the argument its new values but keeps its old shape where a composite op asks for it. An
exported program, not yet functional, gets the functional op instead, whose result takes the
argument's place.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx import Node
from torch.fx.node import map_arg

from ingot.capture.hidden_aliases import shares_storage
from ingot.program.graph import other_numbers, returned_argument

aten = torch.ops.aten


def replace_resizing_ops(exported: ExportedProgram) -> ExportedProgram:
    for node in list(exported.graph.nodes):
        given = _resized(node)
        functional = None if given is None else _functional(node.target)
        if given is None or functional is None:
            continue
        made = _call(node, functional)
        for user in _behind(node, given):
            user.replace_input_with(given, made)
        node.replace_all_uses_with(made)
        exported.graph.erase_node(node)
    exported.graph_module.recompile()
    return exported


def _resized(node: Node) -> Node | None:
    """The argument that is written and has another shape afterwards, if the program made it."""
    given = returned_argument(node) if node.op == "call_function" else None
    if given is None or given.op == "placeholder" or not isinstance(node.target, OpOverload):
        return None
    old, new = given.meta.get("val"), node.meta.get("val")
    if not isinstance(old, torch.Tensor) or not isinstance(new, torch.Tensor):
        return None
    return given if other_numbers(old.shape, new.shape) else None


def _functional(target: Any) -> OpOverload | None:
    """The overload of the same arguments without the one that is written. Overloads for numbers and
    for tensors differ in the types of arguments of one name."""
    wanted = [_declared(a) for a in target._schema.arguments if not _is_written(a)]
    for name in target._overloadpacket.overloads():
        other = getattr(target._overloadpacket, name)
        if other._schema.is_mutable:
            continue
        if [_declared(a) for a in other._schema.arguments][: len(wanted)] == wanted:
            return other
    return None


def _declared(argument: Any) -> tuple[str, str]:
    return argument.name, str(argument.type)


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _call(node: Node, functional: OpOverload) -> Node:
    """The functional op, cast and laid out as the argument would be."""
    graph, wanted = node.graph, node.meta["val"]
    written = {a.name for a in node.target._schema.arguments if _is_written(a)}  # type: ignore[union-attr]
    kwargs = {name: value for name, value in node.kwargs.items() if name not in written}

    def add(target: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Node:
        with graph.inserting_before(node):
            made = graph.call_function(target, args, kwargs)
        values, named = map_arg((args, kwargs), lambda n: n.meta["val"])
        with torch.no_grad():
            made.meta = {**node.meta, "val": target(*values, **named)}
        return made

    made = add(functional, node.args, kwargs)
    if made.meta["val"].dtype is not wanted.dtype:
        made = add(aten._to_copy.default, (made,), {"dtype": wanted.dtype})
    value = made.meta["val"]
    is_view = any(shares_storage(value, other.meta["val"]) for other in _tensors(node))
    if is_view or other_numbers(value.stride(), wanted.stride()):
        made = add(aten.clone.default, (made,), {"memory_format": torch.contiguous_format})
    return made


def _tensors(node: Node) -> list[Node]:
    return [n for n in node.all_input_nodes if isinstance(n.meta.get("val"), torch.Tensor)]


def _behind(node: Node, given: Node) -> list[Node]:
    order = {each: k for k, each in enumerate(node.graph.nodes)}
    return [user for user in given.users if order[user] > order[node]]
