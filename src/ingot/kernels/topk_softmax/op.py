"""The op that the pass writes and the family claims. Its implementation defines its result and runs
if no native code claims it."""

from __future__ import annotations

import torch
from torch import Tensor

_library = torch.library.Library("ingot_native", "FRAGMENT")
_library.define(
    "topk_softmax(Tensor scores, int k, bool over_all) -> (Tensor, Tensor)",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def _topk_softmax(scores: Tensor, k: int, over_all: bool) -> tuple[Tensor, Tensor]:
    """(weights, indices) of the k largest scores of each row: the softmax over all scores of the
    row, or over these k."""
    if over_all:
        weights, indices = torch.topk(torch.softmax(scores, -1), k)
        return weights, indices
    largest, indices = torch.topk(scores, k)
    return torch.softmax(largest, -1), indices


def _topk_softmax_meta(scores: Tensor, k: int, over_all: bool) -> tuple[Tensor, Tensor]:
    shape = [*scores.shape[:-1], k]
    return scores.new_empty(shape), scores.new_empty(shape, dtype=torch.int64)


_library.impl("topk_softmax", _topk_softmax, "CompositeExplicitAutograd")
_library.impl("topk_softmax", _topk_softmax_meta, "Meta")

topk_softmax = torch.ops.ingot_native.topk_softmax.default
