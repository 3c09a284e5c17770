"""Fold zero padding into the native convolution that produces the image (passes/convolve.py): the
convolution writes a zero border around its result, and users of the unpadded image read the
interior. Results that leave the program are not touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch.fx import Node

from ingot.passes.base import Pass, ProgramDraft, args_of
from ingot.passes.images import Images, channels_last
from ingot.passes.normalize import val
from ingot.program import native_ops

aten = torch.ops.aten


@dataclass(frozen=True)
class Borders(Pass):
    name: ClassVar[str] = "borders"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        count = _absorbed(draft)
        return [f"borders: {count}"] if count else []


def _absorbed(draft: ProgramDraft) -> int:
    wanted: dict[Node, list[Node]] = {}
    for node in draft.graph.nodes:
        if node.target is not aten.constant_pad_nd.default or _even_border(node) is None:
            continue
        source = args_of(node)[0]
        if source.target is native_ops.convolution and source not in draft.escaping:
            wanted.setdefault(source, []).append(node)
    for source, pads in wanted.items():
        _widen(draft, source, pads)
    return len(wanted)


def _even_border(node: Node) -> tuple[int, ...] | None:
    """The zero padding per dimension if it is symmetric, else None."""
    given = args_of(node)
    value = given[2] if len(given) > 2 else 0.0
    sides, dims = given[1], val(node).dim() - 2
    if value != 0.0 or len(sides) != 2 * dims or not all(isinstance(n, int) for n in sides):
        return None
    before, after = tuple(sides[-2::-2]), tuple(sides[::-2])
    return before if before == after and min(before) >= 0 else None


def _widen(draft: ProgramDraft, source: Node, pads: list[Node]) -> None:
    margins = [margin for pad in pads if (margin := _even_border(pad)) is not None]
    border = [max(sides) for sides in zip(*margins, strict=True)]
    arguments = list(source.args)
    arguments[8] = border
    batch, channels, *space = val(source).shape
    sizes = [batch, channels, *(n + 2 * b for n, b in zip(space, border, strict=True))]
    made = channels_last(val(source), sizes)
    wide = draft.call(source, native_ops.convolution, tuple(arguments), made)
    for pad, margin in zip(pads, margins, strict=True):
        draft.swap(pad, _inner(draft, source, wide, [b - m for b, m in zip(border, margin)]))
    if source.users:
        source.replace_all_uses_with(_inner(draft, source, wide, border), propagate_meta=False)
    draft.graph.erase_node(source)


def _inner(draft: ProgramDraft, before: Node, image: Node, margin: list[int]) -> Node:
    """Crop `margin` pixels on each side."""
    for dim, less in enumerate(margin, 2):
        if less:
            stop = val(image).shape[dim] - less
            image = Images(draft, before).slice(image, dim, (less, stop, 1), stop - less)
    return image
