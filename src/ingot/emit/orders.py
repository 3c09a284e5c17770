"""Decompositions of order statistics: medians, running extremes, modes, searchsorted. Each uses a
sort, or comparisons of all pairs, which every dialect has.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from ingot.emit.decompositions import decomposes
from ingot.passes.expand import known_size

aten = torch.ops.aten


def _isnan(x: Tensor) -> Tensor:
    return x != x


def _lowest(dtype: torch.dtype) -> Any:
    return -math.inf if dtype.is_floating_point else torch.iinfo(dtype).min


def _highest(dtype: torch.dtype) -> Any:
    return math.inf if dtype.is_floating_point else torch.iinfo(dtype).max


@decomposes(aten.cummax.default)
def cummax(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    return _running(x, dim, torch.ge, _lowest)


@decomposes(aten.cummin.default)
def cummin(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    return _running(x, dim, torch.le, _highest)


def _running(x: Tensor, dim: int, better: Any, worst: Any) -> tuple[Tensor, Tensor]:
    """Inclusive scan by doubling; of equal elements the later one stays."""
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    size = known_size(x, dim)
    if size is None or x.dtype is torch.bool:
        return NotImplemented
    behind = x.dim() - 1 - dim % x.dim()
    shape = [size if i == dim % x.dim() else 1 for i in range(x.dim())]
    places = torch.arange(size).reshape(shape).expand(x.shape)
    distance = 1
    while distance < size:
        padding = [0, 0] * behind + [distance, 0]
        rest = size - distance
        earlier = aten.constant_pad_nd(x.narrow(dim, 0, rest), padding, worst(x.dtype))
        place = aten.constant_pad_nd(places.narrow(dim, 0, rest), padding, 0)
        keep = _isnan(x) | (~_isnan(earlier) & better(x, earlier))
        x, places = torch.where(keep, x, earlier), torch.where(keep, places, place)
        distance *= 2
    return x, places


@decomposes(aten.kthvalue.default)
def kthvalue(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    values, order = torch.sort(x, dim)
    picked = values.narrow(dim, k - 1, 1), order.narrow(dim, k - 1, 1)
    return picked if keepdim else (picked[0].squeeze(dim), picked[1].squeeze(dim))


@decomposes(aten.median.default)
def median(x: Tensor) -> Tensor:
    flat = x.reshape(-1)
    size = known_size(flat, 0)
    return NotImplemented if not size else median_along(flat, 0)[0]


@decomposes(aten.median.dim)
def median_along(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The median of a row with a NaN is NaN."""
    size = 1 if x.dim() == 0 else known_size(x, dim)
    if not size:
        return NotImplemented
    value, place = kthvalue(x, (size + 1) // 2, dim, keepdim)
    if x.dim() == 0 or not x.dtype.is_floating_point:
        return value, place
    missing = _isnan(x)
    any_missing = missing.any(dim, keepdim)
    first = missing.to(torch.float32).argmax(dim, keepdim)
    return torch.where(any_missing, math.nan, value), torch.where(any_missing, first, place)


@decomposes(aten.nanmedian.default)
def nanmedian(x: Tensor) -> Tensor:
    flat = x.reshape(-1)
    return NotImplemented if not known_size(flat, 0) else nanmedian_along(flat, 0)[0]


@decomposes(aten.nanmedian.dim)
def nanmedian_along(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """NaNs are sorted to the end, and the median is that of the other elements."""
    if x.dim() == 0 or not x.dtype.is_floating_point:
        return median_along(x, dim, keepdim)
    missing = _isnan(x)
    values, order = torch.sort(torch.where(missing, math.inf, x), dim)
    count = (~missing).to(torch.int64).sum(dim, keepdim=True)
    place = ((count - 1).clamp(min=0)) // 2
    value = torch.where(count == 0, math.nan, values.gather(dim, place))
    order = order.gather(dim, place)
    return (value, order) if keepdim else (value.squeeze(dim), order.squeeze(dim))


@decomposes(aten.mode.default)
def mode(x: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The smallest of the most frequent values, and the last index that has it."""
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    size = known_size(x, dim)
    if not size or x.dtype is torch.bool:
        return NotImplemented
    row = x.movedim(dim, -1)
    counts = (row.unsqueeze(-1) == row.unsqueeze(-2)).to(torch.int32).sum(-1)
    most = counts == counts.amax(-1, keepdim=True)
    value = torch.where(most, row, _highest(x.dtype)).amin(-1, keepdim=True)
    places = torch.where(row == value, torch.arange(size), 0).amax(-1, keepdim=True)
    value, places = value.movedim(-1, dim), places.movedim(-1, dim)
    return (value, places) if keepdim else (value.squeeze(dim), places.squeeze(dim))


@decomposes(aten.sort.default, aten.sort.stable, dialect="tosa")
def sort(x: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Of integers: the position of an element is the number of elements that sort before it."""
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    if x.dtype.is_floating_point:
        return NotImplemented
    named = {**dict(zip(("dim", "descending"), [a for a in args if a is not None])), **kwargs}
    dim, falling = named.get("dim", -1), named.get("descending", False)
    size = known_size(x, dim)
    if size is None:
        return NotImplemented
    row = x.movedim(dim, -1)
    places = torch.arange(size)
    one, other = row.unsqueeze(-1), row.unsqueeze(-2)
    before = (other > one) if falling else (other < one)
    before = before | ((other == one) & (places < places.unsqueeze(-1)))
    rank = before.to(torch.int64).sum(-1)
    hit = rank.unsqueeze(-2) == places.unsqueeze(-1)
    order = torch.where(hit, places, 0).sum(-1)
    return row.gather(-1, order).movedim(-1, dim), order.movedim(-1, dim)


@decomposes(aten.topk.default, dialect="tosa")
def topk(
    x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    if x.dtype.is_floating_point or x.dim() == 0:
        return NotImplemented
    made = sort(x, dim=dim, descending=largest)
    if made is NotImplemented:
        return NotImplemented
    return made[0].narrow(dim, 0, k), made[1].narrow(dim, 0, k)


def _single(node: Node) -> bool:
    source: Any = node.args[0]
    return source.meta["val"].dim() == 0


@decomposes(aten.sum.dim_IntList, when=_single)
def sum_of_one(
    x: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> Tensor:
    if x.dim() or (dtype is None and not x.dtype.is_floating_point):
        return NotImplemented
    return x.to(dtype or x.dtype)


@decomposes(aten.argmax.default, aten.argmin.default, when=_single)
def place_of_one(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return NotImplemented if x.dim() else torch.zeros((), dtype=torch.int64)


@decomposes(aten.amax.default, aten.amin.default, when=_single)
def only_one(x: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    return NotImplemented if x.dim() else x.clone()


@decomposes(aten.argmin.default, dialect="tosa")
def argmin(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return torch.argmax(-x, dim, keepdim) if x.dim() else place_of_one(x)


@decomposes(aten.nonzero_static.default)
def nonzero_static(x: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The row of a nonzero element is the number of nonzero elements before it."""
    if x.dim() == 0 or not all(isinstance(n, int) for n in x.shape):
        return NotImplemented
    hit = (x != 0).reshape(-1)
    row = torch.cumsum(hit.to(torch.int64), 0) - 1
    picked = hit & (row == torch.arange(size).unsqueeze(1))
    flat = torch.where(picked, torch.arange(x.numel()), 0).sum(1)
    places = []
    for dim in range(x.dim()):
        inner = math.prod(x.shape[dim + 1 :])
        places.append(torch.div(flat, inner, rounding_mode="floor") % x.shape[dim])
    table = torch.stack(places, 1)
    return torch.where(picked.any(1).unsqueeze(1), table, fill_value)


@decomposes(aten.searchsorted.Tensor)
def searchsorted(
    row: Tensor, x: Tensor, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The number of elements of the sorted row that are smaller, or with `right` not larger."""
    if sorter is not None:
        row = row.gather(-1, sorter)
    right = right or side == "right"
    x = x.unsqueeze(-1)
    row = row if row.dim() == 1 else row.unsqueeze(-2)
    before = ~(row > x) if right else row < x
    before = before | _isnan(x) if not right else before
    return before.to(torch.int64).sum(-1).to(torch.int32 if out_int32 else torch.int64)
