"""The arguments of an `aten.convolution` call by name, and predicates for the forms that native
code can compute. Any number of dimensions is supported; nothing here changes a graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch.fx import Node

from ingot.ops.kernel_shapes import why_not_dtype
from ingot.passes.base import args_of
from ingot.passes.images import is_channels_last
from ingot.passes.normalize import val

aten = torch.ops.aten
FEW = 12
"""Window rows of at most this many terms are read element by element, in any layout."""
MOST_PARTS = 3
NARROW = 8
"""Groups with fewer channels are too narrow for a matmul to pay off."""


def call_of(node: Node) -> ConvolutionCall:
    """Expands one-element lists to one value per dimension."""
    dims = val(node).dim() - 2
    given: list[Any] = [
        n * dims if isinstance(n, list) and len(n) == 1 else n for n in args_of(node)
    ]
    return ConvolutionCall(*given)


@dataclass(frozen=True)
class ConvolutionCall:
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
    def window(self) -> tuple[int, ...]:
        return tuple(int(size) for size in val(self.weight).shape[2:])

    @property
    def channels(self) -> tuple[int, int]:
        """(channels read per group, channels produced per group)"""
        outer, inner = val(self.weight).shape[:2]
        return (outer // self.groups, inner) if self.transposed else (inner, outer // self.groups)

    def is_native(self, frozen: set[Node]) -> bool:
        return self.why_not_native(frozen) is None

    def why_not_native(self, frozen: set[Node]) -> str | None:
        refusal = why_not_dtype(val(self.image).dtype) or self._why_not_known(frozen)
        if refusal is not None:
            return refusal
        if self.transposed and not (self.is_flipped() or self.is_patched()):
            return "a transposed convolution that equals no plain one"
        read, made = self.channels
        if self.groups == 1 or made >= NARROW or (read == 1 and made == 1):
            return None
        return f"groups of {made} output channels, fewer than {NARROW}, are too narrow for a matmul"

    def reads_any_layout(self, frozen: set[Node]) -> bool:
        """A dense image of known sizes with few channels: a channels-last copy costs more than it
        gains."""
        image, (read, _) = val(self.image), self.channels
        few = self.groups == 1 and read * self.window[-1] <= FEW and read > 1
        known = all(isinstance(size, int) for size in image.shape)
        plain = not self.transposed and self.is_native(frozen)
        return plain and few and known and image.is_contiguous()

    def _why_not_known(self, frozen: set[Node]) -> str | None:
        """Weights have to be frozen, channel counts known, and no size statically zero."""
        if self.weight not in frozen:
            return "its weight is not frozen"
        if self.bias is not None and self.bias not in frozen:
            return "its bias is not frozen"
        sizes = (val(self.image).shape[1], *val(self.weight).shape)
        if not all(isinstance(s, int) for s in sizes):
            return "its channel count or its window is symbolic"
        if any(isinstance(s, int) and s == 0 for s in (*sizes, *val(self.image).shape)):
            return "its image or its weight is empty"
        return None

    def is_flipped(self) -> bool:
        """A transposed convolution that equals a plain one with a flipped window."""
        reach = [d * (k - 1) for d, k in zip(self.dilation, self.window, strict=True)]
        enough = all(r >= p for r, p in zip(reach, self.padding, strict=True))
        dense = all(step == 1 for step in self.stride) and not any(self.output_padding)
        return self.transposed and dense and enough

    def is_patched(self) -> bool:
        """A transposed convolution that equals a plain one computing a patch of pixels at a time.
        Windows that need zero padding are excluded: zero times infinity is not zero."""
        enough = all(n <= p for n, p in zip(self.output_padding, self.padding, strict=True))
        whole = all(k % s == 0 for k, s in zip(self.window, self.stride, strict=True))
        simple = self.groups == 1 and all(n == 1 for n in self.dilation)
        steps = any(step > 1 for step in self.stride)
        return self.transposed and simple and whole and enough and steps

    def patches(self) -> list[int]:
        """The number of patches the window covers, per dimension."""
        return [k // s for k, s in zip(self.window, self.stride, strict=True)]

    def parts(self) -> list[tuple[Node, int, int]]:
        """The concatenated images that make up the input, each with its channel range. Convolving
        and summing them one by one is cheaper than concatenating them first."""
        joined = self.image.target is aten.cat.default and self.groups == 1
        dim = args_of(self.image)[1] if joined and len(args_of(self.image)) > 1 else 0
        images = args_of(self.image)[0] if joined else []
        if dim not in (1, 1 - val(self.image).dim()):
            images = []
        if not 2 <= len(images) <= MOST_PARTS or not all(is_channels_last(val(n)) for n in images):
            return [(self.image, 0, int(val(self.weight).shape[1]))]
        ends = list(accumulate((int(val(image).shape[1]) for image in images), initial=0))
        return list(zip(images, ends, ends[1:], strict=False))
