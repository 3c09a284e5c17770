"""Scatters for dialects without one, or without this kind: every position is compared with every
index, and the matching writes are reduced. Sizes along the written dim are static. Of several
writes to one position the last one stays, as in eager.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from ingot.emit.decompositions import decomposes
from ingot.passes.expand import known_size

aten = torch.ops.aten


@dataclass(frozen=True)
class Hits:
    """A mask of the writes to each position; writes are the last dim."""

    hit: Tensor
    dim: int

    def reduced(self, source: Tensor, neutral: Any, reduce: Callable[..., Tensor]) -> Tensor:
        """The reduction of all writes to each position."""
        rows = source.movedim(self.dim, -1).unsqueeze(-2)
        kept = torch.where(self.hit, rows, torch.full((), neutral, dtype=source.dtype))
        return reduce(kept, -1).movedim(-1, self.dim)

    def any(self) -> Tensor:
        return self.hit.any(-1).movedim(-1, self.dim)

    def count(self) -> Tensor:
        return self.hit.to(torch.int64).sum(-1).movedim(-1, self.dim)

    def last(self, source: Tensor) -> Tensor:
        """The last write to each position."""
        size = self.hit.shape[-1]
        places = torch.arange(size)
        order = torch.where(self.hit, places, 0).amax(-1).movedim(-1, self.dim)
        return source.gather(self.dim, order)


def _hits(x: Tensor, dim: int, index: Tensor) -> Hits | None:
    """The hits of an index that has x's sizes in all other dims."""
    size, count = known_size(x, dim), known_size(index, dim)
    if size is None or count is None or not count:
        return None
    rows = index.movedim(dim, -1).unsqueeze(-2)
    return Hits(rows == torch.arange(size).unsqueeze(-1), dim % x.dim())


def _fitted(x: Tensor, dim: int, index: Tensor, source: Any) -> tuple[Tensor, Tensor] | None:
    """Index and source, padded to x's sizes in all other dims; the padding hits no position."""
    sizes = [*x.shape, *index.shape]
    if x.dim() == 0 or not all(isinstance(size, int) for size in sizes):
        return None
    if not isinstance(source, Tensor):
        source = torch.full(index.shape, source, dtype=x.dtype)
    source = source[tuple(slice(0, size) for size in index.shape)]
    missing = [0 if i == dim % x.dim() else x.shape[i] - index.shape[i] for i in range(x.dim())]
    if not any(missing):
        return index, source
    padding = [n for size in reversed(missing) for n in (0, size)]
    return aten.constant_pad_nd(index, padding, -1), aten.constant_pad_nd(source, padding, 0)


def _written(x: Tensor, dim: int, index: Tensor, source: Any, reduce: str) -> Any:
    """`reduce` as in scatter_reduce, over the writes without x; "" keeps the last write."""
    fitted = _fitted(x, dim, index, source)
    hits = _hits(x, dim, fitted[0]) if fitted is not None else None
    if fitted is None or hits is None:
        return NotImplemented
    return hits, (hits.last(fitted[1]) if not reduce else _REDUCES[reduce](hits, fitted[1]))


_REDUCES: dict[str, Callable[[Hits, Tensor], Tensor]] = {
    "sum": lambda hits, source: hits.reduced(source, 0, _sum),
    "mean": lambda hits, source: hits.reduced(source, 0, _sum),
    "prod": lambda hits, source: hits.reduced(source, 1, _product),
    "amax": lambda hits, source: hits.reduced(source, _least(source), torch.amax),
    "amin": lambda hits, source: hits.reduced(source, _largest(source), torch.amin),
}

_JOINED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sum": torch.add,
    "mean": torch.add,
    "prod": torch.mul,
    "amax": torch.maximum,
    "amin": torch.minimum,
}


def _sum(x: Tensor, dim: int) -> Tensor:
    return x.sum(dim, dtype=x.dtype)


def _product(x: Tensor, dim: int) -> Tensor:
    """Unrolled, since not all dialects have a product reduction."""
    made = x.select(dim, 0)
    for i in range(1, x.shape[dim]):
        made = made * x.select(dim, i)
    return made


def _least(x: Tensor) -> Any:
    return -math.inf if x.dtype.is_floating_point else torch.iinfo(x.dtype).min


def _largest(x: Tensor) -> Any:
    return math.inf if x.dtype.is_floating_point else torch.iinfo(x.dtype).max


@decomposes(aten.scatter.src, aten.scatter.value, dialect="tosa")
def scatter(x: Tensor, dim: int, index: Tensor, source: Any) -> Tensor:
    if index.numel() == 0:
        return x.clone()
    made = _written(x, dim, index, source, "")
    return made if made is NotImplemented else torch.where(made[0].any(), made[1], x)


@decomposes(aten.scatter_add.default, dialect="tosa")
def scatter_add(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    return scatter_reduce(x, dim, index, source, "sum")


@decomposes(aten.scatter_reduce.two, dialect="stablehlo")
@decomposes(aten.scatter_reduce.two, dialect="tosa")
def scatter_reduce(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    if index.numel() == 0:
        return x.clone()
    made = _written(x, dim, index, source, reduce)
    if made is NotImplemented:
        return NotImplemented
    hits, value = made
    count = hits.count()
    if include_self:
        value = _JOINED[reduce](x, value)
        count = count + 1
    if reduce == "mean":
        value = _mean(value, count.clamp(min=1))
    return torch.where(hits.any(), value, x)


def _mean(total: Tensor, count: Tensor) -> Tensor:
    if total.dtype.is_floating_point:
        return total / count.to(total.dtype)
    return torch.div(total, count.to(total.dtype), rounding_mode="floor")


@decomposes(aten.scatter.reduce, aten.scatter.value_reduce)
def scatter_by_name(x: Tensor, dim: int, index: Tensor, source: Any, *, reduce: str) -> Tensor:
    if not isinstance(source, Tensor):
        source = torch.full(index.shape, source, dtype=x.dtype)
    return scatter_reduce(x, dim, index, source, {"add": "sum", "multiply": "prod"}[reduce])


def _whole_rows(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """An index of whole rows as an index of single elements."""
    shape = [1] * x.dim()
    shape[dim] = index.numel()
    sizes = list(x.shape)
    sizes[dim] = index.numel()
    return index.reshape(shape).expand(sizes)


@decomposes(aten.index_reduce.default)
def index_reduce(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    if x.dim() == 0:
        one = index_reduce(
            x.reshape(1), 0, index.reshape(1), source.reshape(1), reduce, include_self=include_self
        )
        return one if one is NotImplemented else one.reshape(())
    rows = _whole_rows(x, dim % x.dim(), index)
    return scatter_reduce(x, dim, rows, source, reduce, include_self=include_self)


def _has_gaps(node: Node) -> bool:
    indices: Any = node.args[1]
    return None in indices


@decomposes(aten.index_put.default, when=_has_gaps)
def index_put_behind(
    x: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    """Moves the indexed dim to the front, with the values expanded and moved alike."""
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    given = [index for index in indices if index is not None]
    if None not in indices or len(given) != 1 or given[0].dtype is torch.bool:
        return NotImplemented
    dim, rank = dims[0], given[0].dim()
    wanted = [*x.shape[:dim], *given[0].shape, *x.shape[dim + 1 :]]
    rows = values.expand(wanted).movedim(list(range(dim, dim + rank)), list(range(rank)))
    front = torch.ops.aten.index_put(x.movedim(dim, 0), given, rows, accumulate)
    return front.movedim(0, dim)


@decomposes(aten.put.default)
def put(x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    flat = x.reshape(-1)
    places = torch.where(index < 0, index + flat.shape[0], index).reshape(-1)
    made = torch.ops.aten.index_put(flat, [places], source.reshape(-1), accumulate)
    return made.reshape(x.shape)


@decomposes(aten.diagonal_scatter.default)
def diagonal_scatter(
    x: Tensor, source: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    moved = x.movedim((dim1, dim2), (-2, -1))
    count = known_size(source, -1)
    if not count or known_size(moved, -2) is None:
        return NotImplemented
    rows, columns = torch.arange(moved.shape[-2]), torch.arange(moved.shape[-1])
    places = (rows - max(0, -offset)).clamp(0, count - 1)
    picked = source.index_select(-1, places).unsqueeze(-1)
    hit = columns - rows.unsqueeze(1) == offset
    return torch.where(hit, picked, moved).movedim((-2, -1), (dim1, dim2))


@decomposes(aten.as_strided_scatter.default)
def as_strided_scatter(
    x: Tensor, source: Tensor, size: list[int], stride: list[int], offset: int | None = None
) -> Tensor:
    """The source element that each position gets, if any, is known statically."""
    if not x.is_contiguous() or not all(isinstance(n, int) for n in (*x.shape, *size)):
        return NotImplemented
    places = [offset or 0]
    for length, step in zip(size, stride):
        places = [place + i * step for place in places for i in range(length)]
    taken = [-1] * x.numel()
    for number, place in enumerate(places):
        taken[place] = number
    table = torch.tensor(taken)
    picked = source.reshape(-1).index_select(0, table.clamp(min=0))
    return torch.where(table >= 0, picked, x.reshape(-1)).reshape(x.shape)


@decomposes(aten.index_put.default, dialect="tosa")
def index_put(
    x: Tensor, indices: list[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    """Flattens the indexed dims into one leading dim and scatters whole rows."""
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    given = [index for index in indices if index is not None]
    if any(index.dtype is torch.bool for index in given):
        return NotImplemented
    if not all(isinstance(size, int) for size in x.shape):
        return NotImplemented
    together = dims == list(range(dims[0], dims[-1] + 1))
    spread = torch.broadcast_tensors(*given)
    shape, places = spread[0].shape, torch.zeros_like(spread[0])
    for dim, index in zip(dims, spread):
        places = places * x.shape[dim] + torch.where(index < 0, index + x.shape[dim], index)
    front = x.movedim(dims, list(range(len(dims))))
    rest = front.shape[len(dims) :]
    start = dims[0] if together else 0
    wanted = [*rest[:start], *shape, *rest[start:]]
    rows = values.expand(wanted).movedim(
        list(range(start, start + len(shape))), list(range(len(shape)))
    )
    table, count = front.reshape(-1, math.prod(rest)), places.numel()
    if count == 0 or table.numel() == 0:
        return x.clone()
    index = places.reshape(-1, 1).expand(count, table.shape[1])
    write = scatter_add if accumulate else scatter
    made = write(table, 0, index, rows.reshape(count, -1).to(x.dtype))
    return made.reshape(front.shape).movedim(list(range(len(dims))), dims)
