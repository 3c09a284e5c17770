"""Control flow for dialects to which torch-mlir lowers none. Both branches of a `torch.cond` are
computed and the predicate selects each result: the branches of a functional program have no side
effects, so this costs only time. A `while_loop` is marked as a call.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.fx import Node

from ingot.emit.declared_calls import CALL
from ingot.passes.base import Pass, ProgramDraft
from ingot.passes.inline import inline_branch

aten = torch.ops.aten


@dataclass(frozen=True)
class Choose(Pass):
    name: ClassVar[str] = "choose"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        chosen = 0
        for node in draft.graph.nodes:
            if node.target is torch.ops.higher_order.while_loop:
                node.meta = {**node.meta, CALL: node.name}
        while found := [n for n in draft.graph.nodes if _is_branch(n)]:
            for node in found:
                _choose(draft, node)
            chosen += len(found)
        return [f"branches replaced by selects: {chosen}"] if chosen else []


def _is_branch(node: Node) -> bool:
    return (
        node.target is torch.ops.higher_order.cond
        and isinstance(node.args[0], Node)
        and isinstance(node.args[0].meta["val"], torch.Tensor)
        and all(user.target is operator.getitem for user in node.users)
    )


def _choose(draft: ProgramDraft, node: Node) -> None:
    predicate: Any = node.args[0]
    sides = [inline_branch(draft, node, taken) for taken in (True, False)]
    for user in list(node.users):
        index: Any = user.args[1]
        yes, no = sides[0][index], sides[1][index]
        made = draft.call(user, aten.where.self, (predicate, yes, no), user.meta["val"])
        draft.swap(user, made)
    draft.graph.erase_node(node)
