"""View ops as steps that can be written through. A step recomputes the view from a new source, and
puts new content of the view into the source. Common views have an inverse of their own; any other
is inverted by its index map, found by applying the view to the element positions. Nothing here
depends on strides, so a source with eager's values in another layout will do.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch._ops import OpOverload
from torch.fx import Node

from ingot.capture.functionalize.cells import ViewStep
from ingot.program.graph import same_numbers

aten = torch.ops.aten


class Emitter(Protocol):
    """Adds a call to the graph being built, with its meta["val"]."""

    def emit(self, target: Any, *args: Any, **kwargs: Any) -> Node: ...


Invert = Callable[[Emitter, Node, Node, tuple[Any, ...]], Node]
"""(emitter, source, new content, the view's arguments after the source) -> new source."""


def step_for(
    emitter: Emitter,
    op: OpOverload,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    item: int | None,
) -> ViewStep:
    """`args` and `kwargs` exclude the source; symbolic numbers are nodes."""
    if item is not None:
        return _part_step(emitter, op, args, kwargs, item)
    invert = _INVERSES.get(op)

    def forward(source: Node) -> Node:
        if op in _RESHAPES:
            return _view_again(emitter, op, source, args, kwargs)
        return emitter.emit(op, source, *args, **kwargs)

    def inverse(source: Node, new: Node) -> Node:
        if op in _RESHAPES:
            return reshape_like(emitter, new, source)
        if op in _PERMUTES:
            return emitter.emit(aten.permute.default, new, _inverse_permutation(op, source, args))
        if invert is not None:
            return invert(emitter, source, new, args)
        return invert_by_positions(emitter, source, new, forward)

    return ViewStep(forward, inverse)


def _part_step(
    emitter: Emitter, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], item: int
) -> ViewStep:
    """One result of split, chunk, unbind and similar ops."""

    def forward(source: Node) -> Node:
        """Emits a single view: autograd forbids writes to the source of one of several views."""
        dim = _part_dim(op, args, kwargs, source)
        if op is aten.unbind.int:
            return emitter.emit(aten.select.int, source, dim, item)
        if (place := part(source, dim)) is not None:
            return emitter.emit(aten.slice.Tensor, source, dim, *place)
        return emitter.emit(operator.getitem, emitter.emit(op, source, *args, **kwargs), item)

    def part(source: Node, dim: int) -> tuple[int, int] | None:
        """Start and end, if they are known."""
        sizes = [val.shape[dim] for val in op(source.meta["val"], *args, **kwargs)[: item + 1]]
        if not all(type(size) is int for size in sizes):
            return None
        return sum(sizes[:-1]), sum(sizes)

    def inverse(source: Node, new: Node) -> Node:
        dim = _part_dim(op, args, kwargs, source)
        if op is aten.unbind.int:
            return emitter.emit(aten.select_scatter.default, source, new, dim, item)
        if (place := part(source, dim)) is not None:
            return emitter.emit(aten.slice_scatter.default, source, new, dim, *place)
        return invert_by_positions(emitter, source, new, forward)

    return ViewStep(forward, inverse)


def _part_dim(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], source: Node) -> int:
    rank = source.meta["val"].dim()
    name = op._schema.name.removeprefix("aten::")
    if name in _FIXED_DIMS:
        return _FIXED_DIMS[name](rank)
    names = [argument.name for argument in op._schema.arguments[1:]]
    given = {**dict(zip(names, args)), **kwargs}
    dim: int = given.get("dim", 0)
    return dim % rank


_FIXED_DIMS: dict[str, Callable[[int], int]] = {
    "hsplit": lambda rank: 0 if rank == 1 else 1,
    "vsplit": lambda rank: 0,
    "dsplit": lambda rank: 2,
}

_RESHAPES = frozenset(
    {
        aten.view.default,
        aten._unsafe_view.default,
        aten.view_as.default,
        aten.reshape.default,
        aten.unsqueeze.default,
        aten.squeeze.default,
        aten.squeeze.dim,
        aten.squeeze.dims,
        aten.flatten.using_ints,
        aten.unflatten.int,
    }
)

_PERMUTES = frozenset(
    {
        aten.permute.default,
        aten.transpose.int,
        aten.t.default,
        aten.numpy_T.default,
        aten.mT.default,
        aten.movedim.int,
        aten.movedim.intlist,
        aten.moveaxis.int,
        aten.moveaxis.intlist,
        aten.swapaxes.default,
        aten.swapdims.default,
    }
)


def _view_again(
    emitter: Emitter, op: OpOverload, source: Node, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Node:
    """The same view, of a contiguous copy if the source's layout does not allow it."""
    try:
        return emitter.emit(op, source, *args, **kwargs)
    except (RuntimeError, ValueError):
        whole = emitter.emit(aten.clone.default, source, memory_format=torch.contiguous_format)
        return emitter.emit(op, whole, *args, **kwargs)


def reshape_like(emitter: Emitter, node: Node, like: Node) -> Node:
    """`node` in the shape of `like`."""
    wanted = like.meta["val"]
    if same_numbers(node.meta["val"].shape, wanted.shape):
        return node
    sizes = shape_of(emitter, like)
    return _view_again(emitter, aten.view.default, node, (sizes,), {})


def shape_of(emitter: Emitter, node: Node) -> list[Any]:
    """The sizes, as ints where they are known and nodes otherwise."""
    return [
        size if isinstance(size, int) else emitter.emit(aten.sym_size.int, node, dim)
        for dim, size in enumerate(node.meta["val"].shape)
    ]


def _inverse_permutation(op: OpOverload, source: Node, args: tuple[Any, ...]) -> list[int]:
    """Found by applying the view to a tensor whose dims have distinct sizes."""
    rank = source.meta["val"].dim()
    order = list(op(torch.empty(list(range(1, rank + 1)), device="meta"), *args).shape)
    return [order.index(dim + 1) for dim in range(rank)]


def _slice(emit: Emitter, source: Node, new: Node, args: tuple[Any, ...]) -> Node:
    return emit.emit(aten.slice_scatter.default, source, new, *args)


def _select(emit: Emitter, source: Node, new: Node, args: tuple[Any, ...]) -> Node:
    return emit.emit(aten.select_scatter.default, source, new, *args)


def _diagonal(emit: Emitter, source: Node, new: Node, args: tuple[Any, ...]) -> Node:
    return emit.emit(aten.diagonal_scatter.default, source, new, *args)


def _narrow(emit: Emitter, source: Node, new: Node, args: tuple[Any, ...]) -> Node:
    dim, start, length = args
    if not (isinstance(start, int) and isinstance(length, int)):
        end: Any = emit.emit(operator.add, start, length)
    else:
        start = start + source.meta["val"].shape[dim] if start < 0 else start
        end = start + length
    return emit.emit(aten.slice_scatter.default, source, new, dim, start, end)


def _same(emit: Emitter, source: Node, new: Node, args: tuple[Any, ...]) -> Node:
    return new


def _expand(emit: Emitter, source: Node, new: Node, args: tuple[Any, ...]) -> Node:
    """For an expand that only added dims of size 1: see `repeats`."""
    return reshape_like(emit, new, source)


def _dtype(emit: Emitter, source: Node, new: Node, args: tuple[Any, ...]) -> Node:
    return _view_again(emit, aten.view.dtype, new, (source.meta["val"].dtype,), {})


def _as_real(emit: Emitter, source: Node, new: Node, args: tuple[Any, ...]) -> Node:
    return _view_again(emit, aten.view_as_complex.default, new, (), {})


def _as_complex(emit: Emitter, source: Node, new: Node, args: tuple[Any, ...]) -> Node:
    return emit.emit(aten.view_as_real.default, new)


def _conj(emit: Emitter, source: Node, new: Node, args: tuple[Any, ...]) -> Node:
    return emit.emit(aten.conj_physical.default, new)


def _neg(emit: Emitter, source: Node, new: Node, args: tuple[Any, ...]) -> Node:
    return emit.emit(aten.neg.default, new)


def _complex_part(part: int) -> Invert:
    def invert(emit: Emitter, source: Node, new: Node, args: tuple[Any, ...]) -> Node:
        both = emit.emit(aten.view_as_real.default, source)
        both = emit.emit(aten.select_scatter.default, both, new, -1, part)
        return emit.emit(aten.view_as_complex.default, both)

    return invert


_INVERSES: dict[OpOverload, Invert] = {
    aten.slice.Tensor: _slice,
    aten.select.int: _select,
    aten.diagonal.default: _diagonal,
    aten.narrow.default: _narrow,
    aten.alias.default: _same,
    aten.detach.default: _same,
    aten.lift_fresh.default: _same,
    aten.expand.default: _expand,
    aten.expand_as.default: _expand,
    aten.broadcast_to.default: _expand,
    aten.view.dtype: _dtype,
    aten.view_as_real.default: _as_real,
    aten.view_as_complex.default: _as_complex,
    aten._conj.default: _conj,
    aten._neg_view.default: _neg,
    aten.real.default: _complex_part(0),
    aten.imag.default: _complex_part(1),
}


def put(emitter: Emitter, steps: Sequence[ViewStep], content: Node, new: Node) -> Node:
    """The content after `new` is written through the steps."""
    sources, node = [content], content
    for i, step in enumerate(steps):
        node = step.forward(node)
        if repeats(sources[-1], node):
            new = invert_by_positions(emitter, sources[-1], new, through(steps[i:]))
            steps = steps[:i]
            break
        sources.append(node)
    for step, source in zip(reversed(steps), reversed(sources[: len(steps)])):
        new = step.inverse(source, new)
    return new


def through(steps: Sequence[ViewStep]) -> Callable[[Node], Node]:
    def forward(node: Node) -> Node:
        for step in steps:
            node = step.forward(node)
        return node

    return forward


def repeats(source: Node, view: Node) -> bool:
    """Whether elements of the source occur more than once in the view: what is written through it
    and the later steps must then be put back as a whole."""
    counts = [node.meta["val"].numel() for node in (source, view)]
    return all(type(count) is int for count in counts) and counts[0] < counts[1]


def invert_by_positions(
    emit: Emitter, source: Node, new: Node, forward: Callable[[Node], Node]
) -> Node:
    """Inverts any view by applying it to the positions of the source's elements."""
    val = source.meta["val"]
    sizes = shape_of(emit, source)
    count: Any = math.prod(sizes) if all(isinstance(s, int) for s in sizes) else None
    if count is None:
        count = emit.emit(aten.sym_numel.default, source)
    line = emit.emit(aten.arange.default, count, device=val.device)
    grid = emit.emit(aten.view.default, line, sizes)
    places = _flat(emit, forward(grid))
    flat = emit.emit(aten.scatter.src, _flat(emit, source), 0, places, _flat(emit, new))
    return emit.emit(aten.view.default, flat, sizes)


def _flat(emit: Emitter, node: Node) -> Node:
    return _view_again(emit, aten.view.default, node, ([-1],), {})
