"""Fold inference batch norms into the convolutions before them: conv(x, w) · s + t is conv(x, w ·
s) + t. Only scales and shifts computed from weights are folded. The folded weights are recomputed
when a weight changes, not in each call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.fx import Node
from torch.fx.node import map_arg

from ingot.passes.base import Pass, ProgramDraft, args_of
from ingot.passes.frozen import freeze, frozen_values
from ingot.passes.normalize import val

aten = torch.ops.aten


@dataclass(frozen=True)
class FoldNorms(Pass):
    name: ClassVar[str] = "fold_norms"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        frozen = frozen_values(draft)
        scales = shifts = 0
        for node in list(draft.graph.nodes):
            if node.target is not aten.convolution.default:
                continue
            folded = _Folded(draft, node, frozen)
            scales += folded.scale()
            shifts += folded.shift()
        counts = {"scales folded": scales, "shifts folded": shifts}
        return [f"{name}: {count}" for name, count in counts.items() if count]


@dataclass
class _Folded:
    """A convolution while scales and shifts are folded into it."""

    draft: ProgramDraft
    node: Node
    frozen: set[Node]

    def scale(self) -> bool:
        user, factor = self._user(aten.mul.Tensor)
        weight, bias = args_of(self.node)[1:3]
        if user is None or factor is None or weight not in self.frozen:
            return False
        if bias is not None and bias not in self.frozen:
            return False
        outer = 1 if args_of(self.node)[6] else 0
        shape = [1] * val(weight).dim()
        shape[outer] = -1
        if outer and args_of(self.node)[8] != 1:
            return False
        scaled = self._call(user, aten.mul.Tensor, weight, self._shaped(user, factor, shape))
        if bias is not None:
            bias = self._call(user, aten.mul.Tensor, bias, self._shaped(user, factor, [-1]))
        self._replace(user, scaled, bias)
        return True

    def shift(self) -> bool:
        user, more = self._user(aten.add.Tensor)
        weight, bias = args_of(self.node)[1:3]
        if user is None or more is None or (bias is not None and bias not in self.frozen):
            return False
        total = self._shaped(user, more, [-1])
        if bias is not None:
            total = self._call(user, aten.add.Tensor, bias, total)
        self._replace(user, weight, total)
        return True

    def _user(self, target: Any) -> tuple[Node | None, Node | None]:
        """The only user, if it is this op with one frozen value per channel, and those values."""
        if len(self.node.users) != 1:
            return None, None
        (user,) = self.node.users
        if user.target is not target or user.kwargs or len(user.args) != 2:
            return None, None
        others = [a for a in user.args if a is not self.node]
        if len(others) != 1 or not isinstance(others[0], Node) or others[0] not in self.frozen:
            return None, None
        value, channels = val(others[0]), val(self.node).shape[1]
        shape = (1, channels, *(1 for _ in val(self.node).shape[2:]))
        alike = value.dtype is val(self.node).dtype
        fits = tuple(value.shape) in (shape, shape[1:]) and isinstance(channels, int)
        return (user, others[0]) if fits and alike else (None, None)

    def _shaped(self, before: Node, numbers: Node, shape: list[int]) -> Node:
        sizes = [val(numbers).numel() if size == -1 else size for size in shape]
        return self._call(before, aten.view.default, numbers, sizes)

    def _call(self, before: Node, target: Any, *args: Any) -> Node:
        known = map_arg(args, lambda n: n.meta["val"])
        first = known[0]
        if isinstance(args[-1], Node) and first.is_contiguous():
            value = first.new_empty(first.shape)  # cheaper than calling the op
        else:
            value = target(*known)
        node = self.draft.call(before, target, args, value)
        self.frozen.add(node)
        return node

    def _replace(self, user: Node, weight: Node, bias: Node | None) -> None:
        """Replace `user` by the convolution with other weights."""
        image, _, _, *rest = args_of(self.node)
        new = self.draft.call(
            user, aten.convolution.default, (image, weight, bias, *rest), user.meta["val"]
        )
        self.draft.swap(user, new)
        self.draft.graph.erase_node(self.node)
        self.node = new
        for made in (weight, bias):
            if made is not None:
                freeze(made)
