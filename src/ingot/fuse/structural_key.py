"""Structural keys: equal for regions that have the same kernel. A key names every op, argument,
dtype, size and stride that the code depends on; nodes appear only by number, so the layers of a
model share one key.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from ingot.fuse.region import Point, Region
from ingot.fuse.views import is_view
from ingot.program.shapes import shape_of, strides_of, tensor_of

Key = tuple[Any, ...]


def structural_key(region: Region) -> tuple[Key, list[fx.Node]]:
    """(key, nodes by number): under equal keys, node k of one region corresponds to node k of the
    other."""
    describer = _Describer(region)
    sizes = tuple((v.name, str(v.size), v in region.reduced) for v in region.domain)
    members = tuple((describer.number(n), repr(point)) for n, point in region.members.items())
    inlined = frozenset((describer.number(n), describer.point(p)) for n, p in region.inlined)
    stored = tuple(describer.number(node) for node in region.stored)
    return (
        sizes,
        members,
        inlined,
        stored,
        region.needs_split,
        tuple(describer.texts),
    ), describer.nodes


class _Describer:
    """Numbers nodes as it meets them, and describes each."""

    def __init__(self, region: Region):
        self.region = region
        self.nodes: list[fx.Node] = []
        self.texts: list[Any] = []
        self._numbers: dict[fx.Node, int] = {}
        self._inlined = {n for n, _ in region.inlined}

    def number(self, node: fx.Node) -> int:
        known = self._numbers.get(node)
        if known is not None:
            return known
        number = self._numbers[node] = len(self.nodes)
        self.nodes.append(node)
        self.texts.append(None)
        self.texts[number] = self._text(node)
        return number

    def point(self, point: Point) -> Any:
        gathered = (self.number(atom.tensor) for index in point for atom in index.gathered())
        return repr(point), tuple(gathered)

    def _text(self, node: fx.Node) -> Any:
        value = node.meta.get("val")
        layout: Any = None
        if isinstance(value, torch.Tensor):
            layout = (tensor_of(node).dtype, shape_of(node), strides_of(node))
            if not self._is_inside(node):
                return layout
        elif not isinstance(value, list | tuple):
            return str(value)
        more = tuple((k, self._argument(v)) for k, v in node.kwargs.items())
        if node.target is torch.ops.aten.gather.default:  # its error depends on the original op
            more = (*more, ("of", str(node.meta.get("original_aten"))))
        return node.target, layout, tuple(self._argument(a) for a in node.args), more

    def _is_inside(self, node: fx.Node) -> bool:
        """Is it computed, or a view, rather than loaded?"""
        return node in self.region.members or node in self._inlined or is_view(node)

    def _argument(self, value: Any) -> Any:
        if isinstance(value, fx.Node):
            return "node", self.number(value)
        if isinstance(value, list | tuple):
            return tuple(self._argument(v) for v in value)
        return type(value).__name__, repr(value)
