"""Fuses top-k and softmax of a core program: `topk(softmax(x), k)` if nothing else reads the
softmax, and `softmax(topk(x, k).values)` if nothing else reads the values. The softmax is over the
last dimension, and decomposed."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch.fx import Node

from ingot.kernels.topk_softmax.claim import why_not
from ingot.kernels.topk_softmax.op import topk_softmax
from ingot.passes.base import Pass, ProgramDraft
from ingot.passes.normalize import val
from ingot.program.graph import is_item
from ingot.program.shapes import arguments_of

aten = torch.ops.aten


@dataclass(frozen=True)
class Softmax:
    scores: Node
    calls: tuple[Node, ...]
    """The calls of the decomposition, the result first."""

    @property
    def result(self) -> Node:
        return self.calls[0]


@dataclass(frozen=True)
class FuseTopkSoftmax(Pass):
    name: ClassVar[str] = "fuse_topk_softmax"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        draft.refresh()
        found = [node for node in draft.graph.nodes if node.target is aten.topk.default]
        taken = sum(_take(draft, node) for node in found)
        return [f"top-k and softmax as one kernel: {taken}"] if taken else []


@dataclass(frozen=True)
class Fusion:
    """A top-k and the softmax before or behind it."""

    softmax: Softmax
    scores: Node
    over_all: bool
    values: Node
    """The item of the top-k."""
    weights: Node
    indices: Node


def fusion_of(topk: Node) -> Fusion | str | None:
    """The fusion of a top-k, the reason against it, or None if it has no softmax."""
    items = {user.args[1]: user for user in topk.users if is_item(user)}
    given = arguments_of(topk)
    before = softmax_at(given["self"])
    is_own = before is not None and set(before.result.users) == {topk}
    behind = None if is_own or 0 not in items else _softmax_behind(items[0])
    softmax = behind or before
    if softmax is None:
        return None
    if set(items) != {0, 1} or len(topk.users) != len(items):
        return "only one of weights and indices is used"
    if behind is None and not is_own:
        return "its softmax is read by others"
    if behind is not None and set(items[0].users) != {*behind.calls[-2:]}:
        return "its values are read by others than their softmax"
    scores = softmax.scores if is_own else given["self"]
    refusal = why_not(val(scores), given)
    if refusal is not None:
        return refusal
    weights = items[0] if behind is None else behind.result
    return Fusion(softmax, scores, is_own, items[0], weights, items[1])


def _take(draft: ProgramDraft, topk: Node) -> bool:
    found = fusion_of(topk)
    if not isinstance(found, Fusion):
        return False
    args = (found.scores, arguments_of(topk)["k"], found.over_all)
    values = topk_softmax(val(found.scores), *args[1:])
    made = draft.call(topk, topk_softmax, args, values)
    for number, replaced in enumerate((found.weights, found.indices)):
        part = draft.call(topk, operator.getitem, (made, number), values[number])
        draft.swap(replaced, part)
    calls = found.softmax.calls
    _erase_unused(draft, [*calls, found.values, topk, *calls])
    return True


def softmax_at(node: Node) -> Softmax | None:
    """The softmax over the last dimension whose result is this node, or is copied by it."""
    if node.target is aten.clone.default:
        (source,) = node.args
        if not isinstance(source, Node) or set(source.users) != {node}:
            return None
        made = softmax_at(source)
        return None if made is None else Softmax(made.scores, (node, *made.calls))
    if node.target is not aten.div.Tensor:
        return None
    exp, total = node.args
    if not isinstance(exp, Node) or exp.target is not aten.exp.default:
        return None
    if not _reduces(total, aten.sum.dim_IntList, exp):
        return None
    (sub,) = exp.args
    if not isinstance(sub, Node) or sub.target is not aten.sub.Tensor or sub.kwargs:
        return None
    scores, highest = sub.args
    if not isinstance(scores, Node) or not _reduces(highest, aten.amax.default, scores):
        return None
    return Softmax(scores, (node, total, exp, sub, highest))  # type: ignore[arg-type]


def _reduces(node: object, target: object, source: Node) -> bool:
    """Whether it is this reduction of the source's last dimension, with keepdim."""
    if not isinstance(node, Node) or node.target is not target or node.kwargs:
        return False
    last = val(source).ndim - 1
    return node.args in ((source, [last], True), (source, [-1], True))


def _softmax_behind(values: Node) -> Softmax | None:
    """The softmax of these values."""
    nodes = [values]
    for target in (aten.sub.Tensor, aten.exp.default, aten.div.Tensor):
        users = [user for node in nodes for user in node.users if user.target is target]
        nodes = list(dict.fromkeys(users))
    found = [made for node in nodes if (made := softmax_at(node)) and made.scores is values]
    return found[0] if len(found) == 1 else None


def _erase_unused(draft: ProgramDraft, nodes: Sequence[Node]) -> None:
    erased: set[Node] = set()
    for node in nodes:
        if node not in erased and node in draft.graph.nodes and not node.users:
            draft.graph.erase_node(node)
            erased.add(node)
