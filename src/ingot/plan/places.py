"""Where a program's values live. Comes in: the steps, and which of them run natively; goes out: for
every value its place. What holds: a value that the host touches (inputs, results, what PyTorch's
kernels read or make) is a tensor of its own; everything else is a piece of the arena or a view into
another value's memory, and no tensor is ever made for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import torch
from torch import fx

from ingot.fuse.views import base_of, is_view
from ingot.program.shapes import Size, shape_of, size_of, strides_of, tensor_of


@dataclass(frozen=True)
class Moved:
    """Memory that is another in every iteration of a loop: where a base points to."""

    node: fx.Node
    """The input or output of the loop's body that lies there."""


@dataclass(frozen=True)
class Place:
    """`offset` bytes behind the start of `root`: a tensor of the host's, a piece of the arena, or
    what a loop moves."""

    root: fx.Node | Moved
    offset: Size = 0


class Places:
    def __init__(self, hosted: set[fx.Node], in_place: Mapping[fx.Node, fx.Node]):
        self.hosted = hosted
        self._in_place = in_place
        self._known: dict[fx.Node, Place] = {}

    def of(self, node: fx.Node) -> Place:
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = self._find(node)
        return found

    def put(self, node: fx.Node, place: Place) -> None:
        """An input or output of a body lies where its surroundings say."""
        self._known[node] = place

    def _find(self, node: fx.Node) -> Place:
        if node in self._in_place:
            return self.of(self._in_place[node])
        if node in self.hosted or not is_view(node):
            return Place(node)
        base = base_of(node)
        under = self.of(base)
        moved = _elements_in(node) - _elements_in(base)
        return Place(under.root, under.offset + moved * tensor_of(node).dtype.itemsize)


def _elements_in(node: fx.Node) -> Size:
    return size_of(tensor_of(node).storage_offset())


def bytes_of(node: fx.Node) -> Size:
    """Of the memory that a value of its own takes: from its first element to its last."""
    shape, strides = shape_of(node), strides_of(node)
    if any(isinstance(s, int) and s == 0 for s in shape):
        return 0
    extent: Size = 1
    for size, stride in zip(shape, strides, strict=True):
        extent = extent + (size - 1) * stride
    return extent * tensor_of(node).dtype.itemsize


def native_view(node: fx.Node) -> bool:
    """Can this view be had by moving a pointer?"""
    if not is_view(node) or not _shares_memory(node.target):
        return False
    base = base_of(node)
    value, under = tensor_of(node), base.meta.get("val")
    return (
        isinstance(under, torch.Tensor)
        and value.dtype is under.dtype
        and not value.is_neg()
        and not value.is_conj()
        and not value.is_complex()
    )


@cache
def _shares_memory(target: torch._ops.OpOverload) -> bool:
    """flip and its kin are index maps to us, but copies to PyTorch."""
    return target._schema.arguments[0].alias_info is not None


def backed(sizes: Iterable[Size], known: set[str]) -> bool:
    """Are all of these made of symbols that the inputs tell?"""
    return all(
        isinstance(s, int) or all(symbol.name in known for symbol in s.free_symbols) for s in sizes
    )
