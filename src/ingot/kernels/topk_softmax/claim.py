"""Claims on the op: the top-k that the kernel can compute, and the arguments of its launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from ingot.kernels.family import Claim, Reason
from ingot.kernels.topk_softmax.emit import MOST, OUTER, TopkForm
from ingot.ops.kernel_shapes import why_not_dtype
from ingot.program.graph import is_item
from ingot.program.shapes import Size, shape_of, strides_of, tensor_of


def why_not(scores: torch.Tensor, topk: Mapping[str, Any]) -> str | None:
    """The reason against computing this top-k of these scores by the kernel."""
    refusal = why_not_dtype(scores.dtype)
    if refusal is not None:
        return refusal
    if not 1 <= scores.ndim <= OUTER + 1:
        return f"scores of {scores.ndim} dimensions; the kernel takes 1 to {OUTER + 1}"
    if scores.layout is not torch.strided or scores.is_neg():
        return "the scores are not a plain strided tensor"
    if not topk["largest"] or not topk["sorted"]:
        return "it is not the sorted list of the largest scores"
    if topk["dim"] not in (-1, scores.ndim - 1):
        return "it is not along the last dimension"
    k, n = topk["k"], scores.shape[-1]
    if not isinstance(k, int) or not isinstance(n, int):
        return "its k or the number of scores is symbolic"
    return None if 1 <= k <= min(n, MOST) else f"its k is {k}; the kernel takes 1 to {MOST}"


@dataclass(frozen=True)
class Routing(Claim):
    scores: fx.Node
    k: int
    over_all: bool
    weights: fx.Node
    indices: fx.Node

    def reads(self) -> list[fx.Node]:
        return [self.scores]

    def results(self) -> Sequence[fx.Node]:
        return self.weights, self.indices

    @property
    def form(self) -> TopkForm:
        side_by_side = strides_of(self.scores)[-1] == 1
        return TopkForm(tensor_of(self.scores).dtype, self.over_all, side_by_side)

    def sizes(self) -> list[Size]:
        """The arguments after the pointers."""
        *outer, n = shape_of(self.scores)
        *steps, step = strides_of(self.scores)
        rows: Size = 1
        for size in outer:
            rows = rows * size
        missing = OUTER - len(outer)
        loops = [(1, 0)] * missing + list(zip(outer, steps))
        return [rows, n, self.k, step, *(number for loop in loops for number in loop)]


def routing(node: fx.Node) -> Routing | Reason:
    items = {user.args[1]: user for user in node.users if is_item(user)}
    if set(items) != {0, 1}:
        return Reason("only one of weights and indices is used")
    scores, k, over_all = node.args
    return Routing(node, scores, k, over_all, items[0], items[1])  # type: ignore[arg-type]
