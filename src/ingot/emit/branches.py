"""Control flow for dialects that torch-mlir lowers none to. Both branches of a `torch.cond` are
computed and each result is chosen by the predicate: the branches of a functional program have no
effects, so nothing but time is lost. A `while_loop` is marked to be a call.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from ingot.emit.calls import CALL
from ingot.passes.base import Draft, Pass
from ingot.program.graph import output_values, placeholders

aten = torch.ops.aten


@dataclass(frozen=True)
class Choose(Pass):
    name: ClassVar[str] = "choose"

    def rewrite(self, draft: Draft) -> list[str]:
        chosen = 0
        for node in draft.graph.nodes:
            if node.target is torch.ops.higher_order.while_loop:
                node.meta = {**node.meta, CALL: node.name}
        while found := [n for n in draft.graph.nodes if _is_branch(n)]:
            for node in found:
                _choose(draft, node)
            chosen += len(found)
        return [f"branches computed both ways: {chosen}"] if chosen else []


def _is_branch(node: Node) -> bool:
    return (
        node.target is torch.ops.higher_order.cond
        and isinstance(node.args[0], Node)
        and isinstance(node.args[0].meta["val"], torch.Tensor)
        and all(user.target is operator.getitem for user in node.users)
    )


def _choose(draft: Draft, node: Node) -> None:
    predicate: Any = node.args[0]
    sides = [_inlined(draft, node, branch) for branch in node.args[1:3]]
    for user in list(node.users):
        index: Any = user.args[1]
        yes, no = sides[0][index], sides[1][index]
        made = draft.call(user, aten.where.self, (predicate, yes, no), user.meta["val"])
        draft.swap(user, made)
    draft.graph.erase_node(node)


def _inlined(draft: Draft, node: Node, branch: Any) -> list[Any]:
    """The branch's outputs, computed in front of `node`."""
    module: Any = draft.module.get_submodule(str(branch.target))
    operands: Any = node.args[3]
    known: dict[Node, Any] = dict(zip(placeholders(module.graph), operands))
    for inner in module.graph.nodes:
        if inner.op == "get_attr":
            known[inner] = _copied_attribute(draft, node, branch, inner, module)
        elif inner.op == "call_function":
            args, kwargs = map_arg((inner.args, inner.kwargs), known.__getitem__)
            known[inner] = draft.call(node, inner.target, args, inner.meta.get("val"), **kwargs)
    return [known.get(value, value) for value in output_values(module.graph)]


def _copied_attribute(
    draft: Draft, node: Node, branch: Any, inner: Node, module: GraphModule
) -> Node:
    """A constant or a branch inside the branch, under a name of its own."""
    name = f"{branch.target}_{inner.target}"
    setattr(draft.module, name, getattr(module, str(inner.target)))
    with draft.graph.inserting_before(node):
        copy = draft.graph.get_attr(name)
    copy.meta = dict(inner.meta)
    return copy
