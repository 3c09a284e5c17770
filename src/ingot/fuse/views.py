"""Views as index maps: from an index into a view's result to the index of the same element in its
base, or None if it cannot be expressed. No view copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from ingot.foreign_rules import note_registration
from ingot.fuse import index as ix
from ingot.fuse.index import Index
from ingot.program.shapes import (
    Size,
    arguments_of,
    same_size,
    shape_of,
    size_of,
    strides_of,
    tensor_of,
)

aten = torch.ops.aten
Forward = Callable[[fx.Node, tuple[Index, ...]], "tuple[Index, ...] | None"]

view_rules: dict[Any, Forward] = {}
MAKES_SIZE = "ingot_makes_size"
"""In the meta of a call that is the first to determine a size: PyTorch computes where a view with
data-dependent bounds begins and ends."""


def view(*targets: Any) -> Callable[[Forward], Forward]:
    def register(forward: Forward) -> Forward:
        for target in targets:
            if target in view_rules:
                raise ValueError(f"a view rule for {target} is registered already")
            note_registration(target, forward)
            view_rules[target] = forward
        return forward

    return register


def base_of(node: fx.Node) -> fx.Node:
    base = node.args[0]
    assert isinstance(base, fx.Node)
    return base


def is_view(node: fx.Node) -> bool:
    return node.op == "call_function" and node.target in view_rules and MAKES_SIZE not in node.meta


def resolve(node: fx.Node, index: tuple[Index, ...]) -> tuple[fx.Node, tuple[Index, ...]]:
    """Follow views to the node that computes the element, and its index there. A view whose map
    cannot be expressed stands for itself."""
    while is_view(node):
        mapped = view_rules[node.target](node, index)
        if mapped is None:
            break
        node, index = base_of(node), mapped
    return node, index


# -- reshape ---------------------------------------------------------------------------------------


@view(
    aten.view.default, aten._unsafe_view.default, aten.reshape.default, aten.squeeze.default,
    aten.squeeze.dim, aten.squeeze.dims, aten.unsqueeze.default,
)  # fmt: skip
def reshape(node: fx.Node, index: tuple[Index, ...]) -> tuple[Index, ...] | None:
    return ix.reshaped(index, shape_of(node), shape_of(base_of(node)))


@view(aten.alias.default, aten.detach.default, aten.lift_fresh.default)
def same(node: fx.Node, index: tuple[Index, ...]) -> tuple[Index, ...]:
    return index


@view(aten.as_strided.default, aten._reshape_alias.default)
def as_strided(node: fx.Node, index: tuple[Index, ...]) -> tuple[Index, ...] | None:
    """Only as a reshape of a contiguous base; anything else depends on the base's layout in
    memory."""
    arguments = arguments_of(node)
    base = base_of(node)
    strides = tuple(size_of(s) for s in arguments["stride"])
    if arguments.get("storage_offset") not in (None, 0):
        return None
    if not (_is_dense(shape_of(node), strides) and _is_dense(shape_of(base), strides_of(base))):
        return None
    if not same_size(ix.product(shape_of(node)), ix.product(shape_of(base))):
        return None
    return ix.reshaped(index, shape_of(node), shape_of(base))


def _is_dense(shape: Sequence[Size], strides: Sequence[Size]) -> bool:
    """Is it contiguous, row by row?"""
    expected: Size = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 1:
            continue
        if not same_size(stride, expected):
            return False
        expected = expected * size
    return True


# -- permutations ----------------------------------------------------------------------------------


def _order(node: fx.Node) -> list[int]:
    """Dimension k of the result is dimension order[k] of the base."""
    rank = len(shape_of(node))
    arguments = arguments_of(node)
    if node.target is aten.permute.default:
        return [int(d) % rank for d in arguments["dims"]]
    order = list(range(rank))
    if node.target is aten.t.default:
        return order[::-1]
    if rank:
        a, b = arguments["dim0"] % rank, arguments["dim1"] % rank
        order[a], order[b] = order[b], order[a]
    return order


@view(aten.permute.default, aten.transpose.int, aten.t.default)
def permute(node: fx.Node, index: tuple[Index, ...]) -> tuple[Index, ...]:
    result: list[Index] = [ix.ZERO] * len(index)
    for k, d in enumerate(_order(node)):
        result[d] = index[k]
    return tuple(result)


# -- expand, slice, select -------------------------------------------------------------------------


@view(aten.expand.default)
def expand(node: fx.Node, index: tuple[Index, ...]) -> tuple[Index, ...]:
    shape, base = shape_of(node), shape_of(base_of(node))
    lead = len(shape) - len(base)
    return tuple(ix.ZERO if s == 1 else i for i, s in zip(index[lead:], base, strict=True))


def _start(value: Any, size: Size) -> Size | None:
    """A slice's or select's start counted from the front; None if its sign is unknown."""
    if value is None:
        return 0
    start = size_of(value)
    if isinstance(start, int):
        if start >= 0:
            return min(start, size) if isinstance(size, int) else start
        return max(0, start + size) if isinstance(size, int) else size + start
    return start if start.is_nonnegative else None


def _slice_start(value: Any, base: fx.Node, dim: int) -> Size | None:
    """The first element of a slice. One that starts behind the end is empty; one that would start
    before the front starts there."""
    if isinstance(value, int) and value < 0:
        return size_of(torch.sym_max(0, tensor_of(base).shape[dim] + value))
    return _start(value, shape_of(base)[dim])


@view(aten.slice.Tensor)
def slice_(node: fx.Node, index: tuple[Index, ...]) -> tuple[Index, ...] | None:
    arguments = arguments_of(node)
    dim = arguments["dim"] % tensor_of(base_of(node)).dim()
    start = _slice_start(arguments["start"], base_of(node), dim)
    if start is None:
        return None
    moved = index[dim] * size_of(arguments["step"]) + start
    return (*index[:dim], moved, *index[dim + 1 :])


@view(aten.select.int)
def select(node: fx.Node, index: tuple[Index, ...]) -> tuple[Index, ...] | None:
    arguments = arguments_of(node)
    base = shape_of(base_of(node))
    dim = arguments["dim"] % len(base)
    start = _start(arguments["index"], base[dim])
    if start is None:
        return None
    return (*index[:dim], ix.of(start), *index[dim:])


@view(aten.diagonal.default)
def diagonal(node: fx.Node, index: tuple[Index, ...]) -> tuple[Index, ...]:
    arguments = arguments_of(node)
    base = shape_of(base_of(node))
    rank = len(base)
    first, second, offset = arguments["dim1"] % rank, arguments["dim2"] % rank, arguments["offset"]
    along = index[-1]
    rest = iter(index[:-1])
    moved = {first: along + max(0, -offset), second: along + max(0, offset)}
    return tuple(moved[d] if d in moved else next(rest) for d in range(rank))


@view(aten.unfold.default)
def unfold(node: fx.Node, index: tuple[Index, ...]) -> tuple[Index, ...]:
    arguments = arguments_of(node)
    dim = arguments["dimension"] % max(1, len(index) - 1)
    if len(index) == 1:
        return ()
    moved = index[dim] * size_of(arguments["step"]) + index[-1]
    return (*index[:dim], moved, *index[dim + 1 : -1])


# -- copies in eager that are index maps here ------------------------------------------------------


@view(aten.flip.default)
def flip(node: fx.Node, index: tuple[Index, ...]) -> tuple[Index, ...]:
    shape = shape_of(node)
    dims = {d % len(shape) for d in arguments_of(node)["dims"]} if shape else set()
    return tuple(i * -1 + (shape[k] - 1) if k in dims else i for k, i in enumerate(index))


@view(aten.repeat.default)
def repeat(node: fx.Node, index: tuple[Index, ...]) -> tuple[Index, ...]:
    base = shape_of(base_of(node))
    lead = len(index) - len(base)
    return tuple(i % s for i, s in zip(index[lead:], base, strict=True))


@view(aten.roll.default)
def roll(node: fx.Node, index: tuple[Index, ...]) -> tuple[Index, ...] | None:
    arguments = arguments_of(node)
    shape = shape_of(node)
    shifts: Sequence[Any] = arguments["shifts"]
    if 0 in shape:
        return index
    if not arguments["dims"]:
        flat = ix.reshaped(index, shape, (ix.product(shape),))
        if flat is None:
            return None
        total = ix.product(shape)
        moved = (flat[0] + total - size_of(shifts[0]) % total) % total
        return ix.reshaped((moved,), (total,), shape)
    result = list(index)
    for shift, dim in zip(shifts, arguments["dims"], strict=True):
        d = dim % len(shape)
        result[d] = (result[d] + shape[d] - size_of(shift) % shape[d]) % shape[d]
    return tuple(result)
