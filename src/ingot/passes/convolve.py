"""Convolutions in the forms that native code is good at. Comes in: a program whose images lie with
their channels innermost; goes out: the same, in which convolutions with weights that stay are
native ops that take in what follows them: a sum with another image, a clamp. A depthwise
convolution with other weights or unknown sizes is a sum of shifted images, and a 1×1 convolution
with a stride reads the pixels that it needs first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.fx import Node
from torch.fx.node import map_arg

from ingot.fuse.inline import STORED
from ingot.passes.base import Draft, Pass, args_of
from ingot.passes.lasting import lasting_values, prepare
from ingot.passes.normalize import val
from ingot.program import native_ops

aten = torch.ops.aten
MOST_TAPS = 49
NARROW = 8
"""Channels of a group below which a product is not worth its name."""


@dataclass(frozen=True)
class Convolve(Pass):
    name: ClassVar[str] = "convolve"

    def rewrite(self, draft: Draft) -> list[str]:
        counts = {"native": 0, "depthwise as sums": 0, "strided 1×1 as products": 0}
        lasting = lasting_values(draft)
        for node in list(draft.graph.nodes):
            if not _is_image_convolution(node):
                continue
            call = Call(*args_of(node))
            writer = _Writer(draft, node)
            if call.is_native(lasting):
                writer.native(call)
                counts["native"] += 1
            elif call.is_depthwise():
                node.replace_all_uses_with(writer.depthwise(call))
                draft.graph.erase_node(node)
                counts["depthwise as sums"] += 1
            elif call.is_strided_point():
                pixels = writer.shifted(call.image, call, (0, 0), writer.clone)
                node.update_arg(0, pixels)
                node.update_arg(3, [1, 1])
                counts["strided 1×1 as products"] += 1
        return [f"{name}: {count}" for name, count in counts.items() if count]


def _is_image_convolution(node: Node) -> bool:
    if node.target is not aten.convolution.default:
        return False
    values = [val(node), val(node.args[0])]
    return all(
        v.dim() == 4
        and v.dtype in (torch.float32, torch.float64)
        and v.is_contiguous(memory_format=torch.channels_last)
        for v in values
    )


@dataclass(frozen=True)
class Call:
    image: Node
    weight: Node
    bias: Node | None
    stride: list[int]
    padding: list[int]
    dilation: list[int]
    transposed: bool
    output_padding: list[int]
    groups: int

    @property
    def window(self) -> tuple[int, int]:
        height, width = val(self.weight).shape[2:]
        return int(height), int(width)

    def is_native(self, lasting: set[Node]) -> bool:
        """With weights that stay, and sizes that are known."""
        weights = [self.weight] if self.bias is None else [self.weight, self.bias]
        if self.transposed or not all(weight in lasting for weight in weights):
            return False
        sizes = (*val(self.image).shape, *val(self.weight).shape)
        if not all(isinstance(s, int) and s > 0 for s in sizes):
            return False
        columns, inner = val(self.weight).shape[:2]
        wide = columns // self.groups >= NARROW
        return self.groups == 1 or wide or (inner == 1 and columns == self.groups)

    def is_depthwise(self) -> bool:
        channels, inner = val(self.weight).shape[:2]
        few = self.window[0] * self.window[1] <= MOST_TAPS
        return not self.transposed and inner == 1 and channels == self.groups > 1 and few

    def is_strided_point(self) -> bool:
        plain = not self.transposed and self.groups == 1 and self.window == (1, 1)
        return plain and list(self.padding) == [0, 0] and list(self.stride) != [1, 1]


@dataclass(frozen=True)
class _Writer:
    """Writes calls in front of the convolution."""

    draft: Draft
    before: Node

    def call(self, target: Any, *args: Any, **kwargs: Any) -> Node:
        known, named = map_arg((args, kwargs), lambda n: n.meta["val"])
        return self.draft.call(self.before, target, args, target(*known, **named), **kwargs)

    def clone(self, image: Node) -> Node:
        return self.call(aten.clone.default, image, memory_format=torch.channels_last)

    def padded(self, call: Call) -> Node:
        top, left = call.padding
        if not top and not left:
            return call.image
        pad = aten.constant_pad_nd.default
        return self.call(pad, call.image, [left, left, top, top], 0.0)

    # -- native ------------------------------------------------------------------------------------

    def native(self, call: Call) -> None:
        """The op, in the place of the last of those that it takes in."""
        image = self.padded(call)
        for weight in (call.weight, call.bias):
            if weight is not None:
                prepare(weight)
        last, addend = _sum(self.before)
        last, low, high = _clamp(last)
        arguments = (
            image, call.weight, call.bias, addend, call.stride, [0, 0], call.dilation, call.groups,
            [0, 0], low, high,
        )  # fmt: skip
        new = self.draft.call(last, native_ops.convolution, arguments, last.meta["val"])
        chain = [last]
        while chain[-1] is not self.before:
            chain.append(_from(chain[-1], addend))
        self.draft.swap(last, new)
        for node in chain[1:]:
            self.draft.graph.erase_node(node)

    # -- sums --------------------------------------------------------------------------------------

    def depthwise(self, call: Call) -> Node:
        image = self.padded(call)
        height, width = call.window
        # Channels innermost in the weights too: one vector for each place in the window.
        turned = self.call(aten.permute.default, call.weight, [2, 3, 1, 0])
        weights = self.call(aten.clone.default, turned, memory_format=torch.contiguous_format)
        weights.meta[STORED] = True
        channels = val(call.weight).shape[0]
        total: Node | None = None
        if call.bias is not None:
            total = self.call(aten.view.default, call.bias, [1, channels, 1, 1])
        for i in range(height):
            for j in range(width):
                part = self.shifted(image, call, (i, j))
                row = self.call(aten.select.int, weights, 0, i)
                vector = self.call(aten.select.int, row, 0, j)
                weight = self.call(aten.view.default, vector, [1, channels, 1, 1])
                if total is None:
                    total = self.call(aten.mul.Tensor, part, weight)
                else:
                    total = self.call(aten.addcmul.default, total, part, weight)
        assert total is not None
        return total

    def shifted(self, image: Node, call: Call, place: tuple[int, int], then: Any = None) -> Node:
        """The pixels that one place in the window meets."""
        for dim in (0, 1):
            start = place[dim] * call.dilation[dim]
            step = call.stride[dim]
            stop = start + (val(self.before).shape[2 + dim] - 1) * step + 1
            image = self.call(aten.slice.Tensor, image, 2 + dim, start, stop, step)
        return image if then is None else then(image)


def _only_user(node: Node) -> Node | None:
    """Its one user, whose result lies in memory as the node itself does."""
    users = list(node.users)
    if len(users) != 1 or users[0].op != "call_function":
        return None
    made, given = users[0].meta.get("val"), val(node)
    return users[0] if isinstance(made, torch.Tensor) and _are_alike(made, given) else None


def _are_alike(a: torch.Tensor, b: torch.Tensor) -> bool:
    same = tuple(a.shape) == tuple(b.shape) and a.stride() == b.stride()
    return same and a.dtype is b.dtype


def _sum(node: Node) -> tuple[Node, Node | None]:
    """(the sum that the node goes into, the other image); or (the node, None)."""
    user = _only_user(node)
    if user is None or user.target is not aten.add.Tensor or user.kwargs:
        return node, None
    others = [a for a in user.args if a is not node]
    if len(others) != 1 or not isinstance(others[0], Node):
        return node, None
    return (user, others[0]) if _are_alike(val(others[0]), val(node)) else (node, None)


def _clamp(node: Node) -> tuple[Node, float, float]:
    """(the clamp that the node goes into, its bounds); or (the node, no bounds)."""
    user = _only_user(node)
    bounds = None if user is None else _bounds(user)
    if user is None or bounds is None:
        return node, -math.inf, math.inf
    return user, *bounds


def _bounds(node: Node) -> tuple[float, float] | None:
    if node.target is aten.relu.default:
        return 0.0, math.inf
    if node.kwargs or node.target not in (aten.hardtanh.default, aten.clamp.default):
        return None
    none = (-1.0, 1.0) if node.target is aten.hardtanh.default else (None, None)
    given = (*node.args[1:], *none[len(node.args) - 1 :])
    if not all(number is None or isinstance(number, int | float) for number in given):
        return None
    low, high = (
        default if number is None else float(number)
        for number, default in zip(given, (-math.inf, math.inf), strict=True)
    )
    return (low, high) if low <= high else None


def _from(node: Node, addend: Node | None) -> Node:
    """The operand that is not the addend."""
    (source,) = (n for n in node.all_input_nodes if n is not addend)
    return source
