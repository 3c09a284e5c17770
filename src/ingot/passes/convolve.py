"""Convolutions in the forms that native code is good at. Comes in: a program whose images lie with
their channels innermost; goes out: the same, in which a depthwise convolution is a sum of shifted
images, each times a vector of weights, and a 1×1 convolution with a stride reads the pixels that it
needs first. What holds: sums run over the same terms, in the order of the window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.fx import Node
from torch.fx.node import map_arg

from ingot.fuse.inline import STORED
from ingot.passes.base import Draft, Pass, args_of
from ingot.passes.layout import is_pointwise
from ingot.passes.normalize import val

aten = torch.ops.aten
MOST_TAPS = 49
DEEP = 48
"""Terms of a sum below which a product is not worth its name."""


@dataclass(frozen=True)
class Convolve(Pass):
    name: ClassVar[str] = "convolve"

    def rewrite(self, draft: Draft) -> list[str]:
        depthwise = strided = wide = 0
        for node in list(draft.graph.nodes):
            if not _is_native_image_convolution(node):
                continue
            call = _Call(*args_of(node))
            if call.is_depthwise():
                node.replace_all_uses_with(_Writer(draft, node).depthwise(call))
                draft.graph.erase_node(node)
                depthwise += 1
            elif call.is_strided_point():
                writer = _Writer(draft, node)
                pixels = writer.shifted(call.image, call, (0, 0), writer.clone)
                node.update_arg(0, pixels)
                node.update_arg(3, [1, 1])
                strided += 1
            elif call.is_window() and all(map(is_pointwise, node.users)):
                _Writer(draft, node).widen(call)
                wide += 1
        counts = {
            "depthwise as sums": depthwise,
            "strided 1×1 as products": strided,
            "windows as products": wide,
        }
        return [f"{name}: {count}" for name, count in counts.items() if count]


def _is_native_image_convolution(node: Node) -> bool:
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
class _Call:
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

    def is_depthwise(self) -> bool:
        channels, inner = val(self.weight).shape[:2]
        few = self.window[0] * self.window[1] <= MOST_TAPS
        return not self.transposed and inner == 1 and channels == self.groups > 1 and few

    def is_window(self) -> bool:
        """One that is a few products of its padded image."""
        ones = [1, 1]
        plain = not self.transposed and self.groups == 1 and self.window != (1, 1)
        simple = list(self.stride) == ones and list(self.dilation) == ones
        sizes = (*val(self.image).shape, *val(self.weight).shape)
        static = all(isinstance(s, int) for s in sizes)
        return plain and simple and static and val(self.weight).shape[1] * self.window[1] >= DEEP

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

    def padded(self, call: _Call) -> Node:
        top, left = call.padding
        if not top and not left:
            return call.image
        pad = aten.constant_pad_nd.default
        return self.call(pad, call.image, [left, left, top, top], 0.0)

    def widen(self, call: _Call) -> None:
        """Pad the image before, and let the result's rows be as long as the image's: see
        plan/products.py."""
        image = self.padded(call)
        node = self.before
        node.update_arg(0, image)
        node.update_arg(4, [0, 0])
        batch, channels, height, width = val(node).shape
        pitch = val(image).shape[3] * channels
        strides = (height * pitch, 1, pitch, channels)
        node.meta["val"] = val(node).new_empty_strided((batch, channels, height, width), strides)

    def depthwise(self, call: _Call) -> Node:
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

    def shifted(self, image: Node, call: _Call, place: tuple[int, int], then: Any = None) -> Node:
        """The pixels that one place in the window meets."""
        for dim in (0, 1):
            start = place[dim] * call.dilation[dim]
            step = call.stride[dim]
            stop = start + (val(self.before).shape[2 + dim] - 1) * step + 1
            image = self.call(aten.slice.Tensor, image, 2 + dim, start, stop, step)
        return image if then is None else then(image)
