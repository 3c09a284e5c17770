"""Inline a graph in place of a call: its nodes are copied before the call, and the values of its
outputs are returned. Constants and branches of the graph are copied under names of their own. A
node keeps its source location.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from ingot.passes.base import ProgramDraft
from ingot.program.graph import fake_mode, output_values, placeholders


def inlined(
    draft: ProgramDraft, before: Node, module: GraphModule, inputs: Sequence[Any]
) -> list[Any]:
    known: dict[Node, Any] = dict(zip(placeholders(module.graph), inputs, strict=True))
    for inner in module.graph.nodes:
        if inner.op == "get_attr":
            known[inner] = _attribute(draft, before, module, inner)
        elif inner.op == "call_function":
            args, kwargs = map_arg((inner.args, inner.kwargs), known.__getitem__)
            known[inner] = draft.call(before, inner.target, args, inner.meta.get("val"), **kwargs)
            known[inner].meta |= inner.meta
    return [known[v] if isinstance(v, Node) else v for v in output_values(module.graph)]


def inline_branch(draft: ProgramDraft, cond: Node, taken: bool) -> list[Any]:
    """Inline one branch of a `torch.cond` and return its outputs."""
    branch: Any = cond.args[1 if taken else 2]
    module = operator.attrgetter(str(branch.target))(draft.module)
    operands: Any = cond.args[3]
    return inlined(draft, cond, module, operands)


def replace_call(draft: ProgramDraft, node: Node, results: Sequence[Any]) -> None:
    """Replace the result of a call by `results`: its only tensor, or its items."""
    if not isinstance(node.meta["val"], tuple | list):
        draft.swap(node, results[0])
        return
    for user in list(node.users):
        draft.swap(user, results[user.args[1]])  # type: ignore[index]
    draft.graph.erase_node(node)


def _attribute(draft: ProgramDraft, before: Node, module: GraphModule, inner: Node) -> Node:
    value = operator.attrgetter(str(inner.target))(module)
    if isinstance(value, torch.Tensor):
        node = draft.add_constant(before, value)
        mode = fake_mode(draft.graph)
        fake = mode.from_tensor(value, static_shapes=True) if mode else value
        node.meta["val"] = inner.meta.get("val", fake)
        return node
    number = 0
    stem = str(inner.target).replace(".", "_")
    while hasattr(draft.module, name := f"{stem}_{number}"):
        number += 1
    setattr(draft.module, name, value)
    with draft.graph.inserting_before(before):
        node = draft.graph.get_attr(name)
    node.meta = dict(inner.meta)
    return node
