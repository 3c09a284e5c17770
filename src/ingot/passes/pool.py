"""Max pooling over channels-last images as chains of pointwise maxima of shifted images, which fuse
with later ops. Only pools whose indices are unused are rewritten. A NaN in a window is its maximum,
as in eager.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

import torch
from torch.fx import Node

from ingot.passes.base import Pass, ProgramDraft, args_of
from ingot.passes.images import Images, is_channels_last
from ingot.passes.normalize import val
from ingot.program import native_ops
from ingot.program.graph import is_item
from ingot.program.shapes import arguments_of

aten = torch.ops.aten
MOST_PLACES = 25


@dataclass(frozen=True)
class Pool(Pass):
    name: ClassVar[str] = "pool"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        count = 0
        for node in list(draft.graph.nodes):
            window = _window(node)
            if window is None:
                continue
            for item in list(node.users):
                draft.swap(item, _unfolded(draft, item, window))
            draft.graph.erase_node(node)
            count += 1
        return [f"pools unfolded: {count}"] if count else []


@dataclass(frozen=True)
class _Window:
    image: Node
    sizes: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]


def _window(node: Node) -> _Window | None:
    if node.target is not aten.max_pool2d_with_indices.default:
        return None
    given = arguments_of(node)
    image = given["self"]
    value = val(image)
    plain = (
        value.dtype in (torch.float32, torch.float64)
        and is_channels_last(value)
        and not given["ceil_mode"]
        and all(is_item(user) and args_of(user)[1] == 0 for user in node.users)
    )
    sizes = _pair(given["kernel_size"])
    if not plain or sizes[0] * sizes[1] > MOST_PLACES:
        return None
    stride = _pair(given["stride"]) if given["stride"] else sizes
    return _Window(image, sizes, stride, _pair(given["padding"]), _pair(given["dilation"]))


def _pair(given: Any) -> tuple[int, int]:
    return (given[0], given[-1])


def _unfolded(draft: ProgramDraft, item: Node, window: _Window) -> Node:
    images = Images(draft, item)
    image = images.padded(window.image, window.padding, _least(window.image))

    def shifted(source: Node, dim: int, place: int) -> Node:
        start, step = place * window.dilation[dim - 2], window.stride[dim - 2]
        return images.every(source, dim, start, step, val(item).shape[dim])

    rows = [shifted(image, 2, i) for i in range(window.sizes[0])]
    parts = [shifted(row, 3, j) for row in rows for j in range(window.sizes[1])]
    return reduce(images.maximum, parts)


def _least(image: Node) -> float:
    """A padding value no larger than any element; zero if that suffices, see passes/borders.py."""
    if image.target is native_ops.convolution and image.args[9] >= 0.0:  # type: ignore[operator]
        return 0.0
    return -math.inf
