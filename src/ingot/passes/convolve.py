"""Convolutions in the forms that native code is good at. Comes in: a program whose images lie with
their channels innermost; goes out: the same, in which convolutions with weights that stay are
native ops that take in what follows them: a sum with another image, a clamp. A depthwise
convolution with other weights is a sum of shifted images, and a 1×1 convolution with a stride reads
the pixels that it needs first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, ClassVar

import torch
from torch.fx import Node

from ingot.fuse.inline import STORED
from ingot.passes.base import Draft, Pass, args_of
from ingot.passes.images import Images, are_alike, channels_last, is_channels_last
from ingot.passes.lasting import lasting_values, prepare
from ingot.passes.normalize import val
from ingot.program import native_ops

aten = torch.ops.aten
MOST_TAPS = 49
MOST_PARTS = 3
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
            call = _call(node)
            writer = _Writer(draft, node)
            if call.is_native(lasting):
                writer.native(call)
                counts["native"] += 1
            elif call.is_spread() and call.has_known(lasting):
                draft.swap(node, writer.spread(call))
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
    return all(v.dtype in (torch.float32, torch.float64) and is_channels_last(v) for v in values)


def _call(node: Node) -> Call:
    """One number for both dimensions is two."""
    given: list[Any] = [n * 2 if isinstance(n, list) and len(n) == 1 else n for n in args_of(node)]
    return Call(*given)


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

    def has_known(self, lasting: set[Node]) -> bool:
        """Weights that stay, channels that are known, and no size that is zero for good."""
        weights = [self.weight] if self.bias is None else [self.weight, self.bias]
        sizes = (val(self.image).shape[1], *val(self.weight).shape)
        known = all(isinstance(s, int) and s > 0 for s in sizes)
        there = not any(isinstance(s, int) and s == 0 for s in val(self.image).shape)
        return known and there and all(weight in lasting for weight in weights)

    def is_native(self, lasting: set[Node]) -> bool:
        if self.transposed or not self.has_known(lasting):
            return False
        columns, inner = val(self.weight).shape[:2]
        wide = columns // self.groups >= NARROW
        return self.groups == 1 or wide or (inner == 1 and columns == self.groups)

    def is_spread(self) -> bool:
        """Transposed, each pixel making a patch of its own."""
        plain = self.transposed and self.groups == 1 and tuple(self.stride) == self.window
        return (
            plain
            and not any(self.padding)
            and not any(self.output_padding)
            and all(n == 1 for n in self.dilation)
        )

    def parts(self) -> list[tuple[Node, int, int]]:
        """Images side by side that make up the image, with their first and last channel: summing
        over them one after the other is cheaper than to join them first."""
        joined = self.image.target is aten.cat.default and self.groups == 1
        dim = args_of(self.image)[1] if joined and len(args_of(self.image)) > 1 else 0
        images = args_of(self.image)[0] if joined and dim in (1, -3) else []
        if not 2 <= len(images) <= MOST_PARTS or not all(is_channels_last(val(n)) for n in images):
            return [(self.image, 0, int(val(self.weight).shape[1]))]
        ends = list(accumulate((int(val(image).shape[1]) for image in images), initial=0))
        return list(zip(images, ends, ends[1:], strict=False))

    def is_depthwise(self) -> bool:
        channels, inner = val(self.weight).shape[:2]
        few = self.window[0] * self.window[1] <= MOST_TAPS
        return not self.transposed and inner == 1 and channels == self.groups > 1 and few

    def is_strided_point(self) -> bool:
        plain = not self.transposed and self.groups == 1 and self.window == (1, 1)
        return plain and list(self.padding) == [0, 0] and list(self.stride) != [1, 1]


@dataclass(frozen=True)
class _Writer(Images):
    """Writes calls in front of the convolution."""

    def clone(self, image: Node) -> Node:
        last = torch.channels_last
        made = channels_last(val(image), val(image).shape)
        return self.draft.call(self.before, aten.clone.default, (image,), made, memory_format=last)

    # -- native ------------------------------------------------------------------------------------

    def native(self, call: Call) -> None:
        """The op, in the place of the last of those that it takes in."""
        last, addend = _sum(self.before)
        chain = [last]
        last, low, high = _clamp(last)
        chain = [last, *chain] if last is not chain[0] else chain
        chain = [*chain, self.before] if self.before is not chain[-1] else chain
        writer = _Writer(self.draft, last)
        bias, parts = call.bias, call.parts()
        for number, (image, first, end) in enumerate(parts, 1):
            weight = call.weight
            if len(parts) > 1:
                weight = writer.call(aten.slice.Tensor, weight, 1, first, end)
            bounds = (low, high) if number == len(parts) else (-math.inf, math.inf)
            image = writer.padded(image, call.padding)
            addend = writer.native_call(image, weight, bias, addend, call, bounds)
            bias = None
        assert addend is not None
        self.draft.swap(last, addend)
        for node in chain[1:]:
            self.draft.graph.erase_node(node)

    def native_call(
        self, image: Node, weight: Node, bias: Node | None, addend: Node | None, call: Call,
        bounds: tuple[float, float],
    ) -> Node:  # fmt: skip
        prepare(weight)
        if bias is not None:
            prepare(bias)
        return self.call(
            native_ops.convolution, image, weight, bias, addend, list(call.stride), [0, 0],
            list(call.dilation), call.groups, [0, 0], *bounds,
        )  # fmt: skip

    def spread(self, call: Call) -> Node:
        """A 1×1 convolution makes each pixel's patch, as channels; then they are laid out."""
        inner, channels, height, width = val(call.weight).shape
        filters = self.call(aten.permute.default, call.weight, [2, 3, 1, 0])
        filters = self.call(aten.clone.default, filters, memory_format=torch.contiguous_format)
        places = height * width
        weight = self.call(aten.view.default, filters, [places * channels, inner, 1, 1])
        bias = call.bias
        if bias is not None:
            bias = self.call(aten.repeat.default, bias, [places])
        point = replace(call, stride=[1, 1], padding=[0, 0], dilation=[1, 1])
        bounds = (-math.inf, math.inf)
        patches = self.native_call(call.image, weight, bias, None, point, bounds)
        batch, _, rows, columns = val(call.image).shape
        patches = self.call(aten.permute.default, patches, [0, 2, 3, 1])
        sizes = [batch, rows, columns, height, width, channels]
        patches = self.call(aten.view.default, patches, sizes)
        patches = self.call(aten.permute.default, patches, [0, 1, 3, 2, 4, 5])
        patches = self.call(aten.clone.default, patches, memory_format=torch.contiguous_format)
        sizes = [batch, rows * height, columns * width, channels]
        image = self.call(aten.view.default, patches, sizes)
        return self.call(aten.permute.default, image, [0, 3, 1, 2])

    # -- sums --------------------------------------------------------------------------------------

    def depthwise(self, call: Call) -> Node:
        image = self.padded(call.image, call.padding)
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
            start, count = place[dim] * call.dilation[dim], val(self.before).shape[2 + dim]
            image = self.every(image, 2 + dim, start, call.stride[dim], count)
        return image if then is None else then(image)


def _only_user(node: Node) -> Node | None:
    """Its one user, whose result lies in memory as the node itself does."""
    users = list(node.users)
    if len(users) != 1 or users[0].op != "call_function":
        return None
    made, given = users[0].meta.get("val"), val(node)
    return users[0] if isinstance(made, torch.Tensor) and are_alike(made, given) else None


def _sum(node: Node) -> tuple[Node, Node | None]:
    """(the sum that the node goes into, the other image); or (the node, None)."""
    user = _only_user(node)
    if user is None or user.target is not aten.add.Tensor or user.kwargs:
        return node, None
    others = [a for a in user.args if a is not node]
    if len(others) != 1 or not isinstance(others[0], Node):
        return node, None
    return (user, others[0]) if are_alike(val(others[0]), val(node)) else (node, None)


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
