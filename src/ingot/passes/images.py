"""Builder of calls on channels-last images, for passes. Sizes may be symbolic; no query on them
adds a guard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node
from torch.fx.node import map_arg

from ingot.passes.base import ProgramDraft
from ingot.passes.normalize import val
from ingot.program.native_ops import channels_last_strides
from ingot.program.shapes import same_size, size_of

aten = torch.ops.aten
IMAGE_DIMS = (3, 4, 5)
"""Batch, channels, and one to three spatial dimensions."""
_FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}


@dataclass(frozen=True)
class Images:
    """Inserts calls before `before`."""

    draft: ProgramDraft
    before: Node

    def call(self, target: Any, *args: Any, **kwargs: Any) -> Node:
        """Insert a call; PyTorch computes the fake result."""
        known, named = map_arg((args, kwargs), lambda n: n.meta["val"])
        return self.draft.call(self.before, target, args, target(*known, **named), **kwargs)

    def padded(self, image: Node, padding: Sequence[int], value: float = 0.0) -> Node:
        """Pad with `padding` pixels on both sides of each spatial dimension."""
        if not any(padding):
            return image
        batch, channels, *space = val(image).shape
        sizes = [batch, channels, *(n + 2 * p for n, p in zip(space, padding, strict=True))]
        turned = is_channels_last(val(image))
        made = channels_last(val(image), sizes) if turned else val(image).new_empty(sizes)
        arguments = (image, [p for p in reversed(padding) for _ in range(2)], value)
        return self.draft.call(self.before, aten.constant_pad_nd.default, arguments, made)

    def every(self, image: Node, dim: int, start: int, step: int, count: Any) -> Node:
        """`count` pixels along `dim`, from `start` in steps of `step`."""
        stop = start + (count - 1) * step + 1
        return self.slice(image, dim, (start, stop, step), count)

    def slice(self, image: Node, dim: int, part: tuple[int, Any, int], count: Any) -> Node:
        """Slice a range within bounds, whose length is `count`."""
        value, (start, stop, step) = val(image), part
        sizes, strides = list(value.shape), list(value.stride())
        offset = value.storage_offset() + start * strides[dim]
        sizes[dim], strides[dim] = count, strides[dim] * step
        made = value.as_strided(sizes, strides, offset)
        return self.draft.call(
            self.before, aten.slice.Tensor, (image, dim, start, stop, step), made
        )

    def laid_out(self, image: Node) -> Node:
        """A channels-last copy."""
        dims = range(val(image).dim())
        if len(dims) in _FORMATS:
            made = channels_last(val(image), val(image).shape)
            form = _FORMATS[len(dims)]
            return self.draft.call(
                self.before, aten.clone.default, (image,), made, memory_format=form
            )
        turned = self.call(aten.permute.default, image, [0, *dims[2:], 1])
        copied = self.copied(turned)
        return self.call(aten.permute.default, copied, [0, dims[-1], *dims[1:-1]])

    def copied(self, value: Node) -> Node:
        return self.call(aten.clone.default, value, memory_format=torch.contiguous_format)

    def maximum(self, a: Node, b: Node) -> Node:
        made = channels_last(val(a), val(a).shape)
        return self.draft.call(self.before, aten.maximum.default, (a, b), made)


def channels_last(like: torch.Tensor, sizes: Sequence[Any]) -> torch.Tensor:
    return like.new_empty_strided(list(sizes), channels_last_strides(sizes))


def is_channels_last(value: torch.Tensor) -> bool:
    """Whether the image is dense with its channels innermost, for all values of the symbols."""
    if value.dim() not in IMAGE_DIMS:
        return False
    wanted = channels_last_strides(value.shape)
    sizes = ([size_of(n) for n in numbers] for numbers in (value.shape, value.stride(), wanted))
    return all(
        (isinstance(size, int) and size == 1) or same_size(stride, want)
        for size, stride, want in zip(*sizes, strict=True)
    )


def are_alike(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether sizes, strides and dtype are the same, for all values of the symbols."""
    pairs = [*zip(a.shape, b.shape), *zip(a.stride(), b.stride())]
    same = a.dim() == b.dim() and a.dtype is b.dtype
    return same and all(same_size(size_of(x), size_of(y)) for x, y in pairs)
