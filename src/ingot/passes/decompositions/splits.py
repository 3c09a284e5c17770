"""Splits, stacks, factories and the backwards of views, in terms of slice, select, cat, full and
pad. Results are tensors in a tuple, so no getitem stays in the graph. No query adds a guard on a
symbol: where one would be needed, the op stays whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._prims_common import is_contiguous_or_false
from torch.fx.experimental.symbolic_shapes import (
    free_unbacked_symbols,
    statically_known_true,
)

from ingot.passes.decompositions import decomposes
from ingot.passes.decompositions.layouts import dense

aten = torch.ops.aten


def is_plain(*numbers: Any) -> bool:
    return all(isinstance(number, int) for number in numbers)


@decomposes("split.Tensor", "unsafe_split.Tensor")
def split(x: Tensor, split_size: int, dim: int = 0) -> Any:
    size = x.shape[dim]
    if not is_plain(size, split_size) or split_size == 0:
        return NotImplemented
    starts = range(0, size, split_size) if size else [0]
    return [aten.slice.Tensor(x, dim, start, min(start + split_size, size)) for start in starts]


@decomposes("split_with_sizes", "unsafe_split_with_sizes")
def split_with_sizes(x: Tensor, split_sizes: Sequence[Any], dim: int = 0) -> Any:
    if any(free_unbacked_symbols(size) for size in (*split_sizes, x.shape[dim])):
        return NotImplemented
    pieces = []
    start: Any = 0
    for size in split_sizes:
        pieces.append(aten.slice.Tensor(x, dim, start, start + size))
        start = start + size
    return pieces


@decomposes("unbind.int")
def unbind(x: Tensor, dim: int = 0) -> Any:
    if not is_plain(x.shape[dim]):
        return NotImplemented
    return [aten.select.int(x, dim, i) for i in range(x.shape[dim])]


@decomposes("stack")
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    if not all(x.is_contiguous() for x in tensors):
        return NotImplemented  # the result's strides follow theirs
    return aten.cat([aten.unsqueeze(x, dim) for x in tensors], dim)


@decomposes("cat")
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """One dtype, one rank, no legacy empty operands (shape [0] concatenates with any rank). A
    result with one of those is contiguous; others follow the layout of their operands."""
    kept = [x for x in tensors if not (x.dim() == 1 and is_plain(x.shape[0]) and x.shape[0] == 0)]
    dtype = tensors[0].dtype
    for x in tensors[1:]:
        dtype = torch.promote_types(dtype, x.dtype)
    if not kept or (len(kept) == len(tensors) and all(x.dtype == dtype for x in kept)):
        return NotImplemented
    cast = [x if x.dtype == dtype else aten._to_copy(x, dtype=dtype) for x in kept]
    if len(kept) < len(tensors):
        cast = [dense(x) for x in cast]
    return aten.cat(cast, dim) if len(cast) > 1 else aten.clone(cast[0])


@decomposes("slice_backward")
def slice_backward(
    grad: Tensor, sizes: Sequence[Any], dim: int, start: Any, end: Any, step: Any
) -> Tensor:
    dim = dim % len(sizes)
    size = sizes[dim]
    if not is_plain(start, step) or step != 1:
        return aten.slice_scatter(_zeros(grad, sizes), grad, dim, start, end, step)
    if start < 0:
        start = start + size
    return _pad(grad, dim, start, size - start - grad.shape[dim])


@decomposes("select_backward")
def select_backward(grad: Tensor, sizes: Sequence[Any], dim: int, index: Any) -> Tensor:
    dim = dim % len(sizes)
    if not is_plain(index):
        return aten.select_scatter(_zeros(grad, sizes), grad, dim, index)
    if index < 0:
        index = index + sizes[dim]
    return _pad(aten.unsqueeze(grad, dim), dim, index, sizes[dim] - 1 - index)


def _zeros(like: Tensor, sizes: Sequence[Any]) -> Tensor:
    return aten.full(sizes, 0, dtype=like.dtype, device=like.device)


def _pad(x: Tensor, dim: int, before: Any, after: Any) -> Tensor:
    """Zero padding in one dim; constant_pad_nd counts its pairs from the last dim."""
    return aten.constant_pad_nd(x, [0, 0] * (x.dim() - 1 - dim) + [before, after], 0)


@decomposes("select_scatter")
def select_scatter(x: Tensor, src: Tensor, dim: int, index: Any) -> Tensor:
    """In the dtype of `x`; PyTorch's own decomposition promotes."""
    dim, size = dim % x.dim(), x.shape[dim]
    shape = [-1 if d == dim else 1 for d in range(x.dim())]
    hit = aten.eq(aten.view(aten.arange(size, device=x.device), shape), index % size)
    src = aten.expand(aten.unsqueeze(src, dim), x.shape)
    return aten.where(hit, src if src.dtype == x.dtype else aten._to_copy(src, dtype=x.dtype), x)


@decomposes("slice_scatter")
def slice_scatter(
    x: Tensor, src: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1
) -> Tensor:
    """Concatenate the part before, the source, and the part after. The op stays whole if the bounds
    are undecided without guards."""
    size = x.shape[dim]
    start = 0 if start is None else start
    if not is_plain(start, step) or step != 1 or src.dtype != x.dtype or not x.is_contiguous():
        return NotImplemented
    if start < 0:
        start = start + size
    length = src.shape[dim]
    stop = start + length
    if not (statically_known_true(start >= 0) and statically_known_true(stop <= size)):
        return NotImplemented
    if statically_known_true(length == size):
        return aten.clone(src)
    parts = [src]
    if not statically_known_true(start == 0):
        parts.insert(0, aten.slice.Tensor(x, dim, 0, start))
    if not statically_known_true(stop == size):
        parts.append(aten.slice.Tensor(x, dim, stop, size))
    return aten.cat(parts, dim)


@decomposes("copy")
def copy(x: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """A fresh tensor with src's values, x's dtype and x's shape. PyTorch accepts a number for src,
    a symbolic one too: x.copy_(x.shape[0])."""
    if not isinstance(src, Tensor):
        return aten.copy(x, _number(src))
    if not is_contiguous_or_false(x):
        return NotImplemented
    if src.dtype != x.dtype:
        src = aten._to_copy(src, dtype=x.dtype)
    if len(src.shape) != len(x.shape) or any(str(a) != str(b) for a, b in zip(src.shape, x.shape)):
        src = aten.expand(src, x.shape)
    return aten.clone(src, memory_format=torch.contiguous_format)


def _number(value: Any) -> Tensor:
    """As eager wraps a number: in the widest dtype of its kind."""
    kinds = ((torch.SymBool | bool, torch.bool), (torch.SymInt | int, torch.int64))
    dtype = next((dtype for kind, dtype in kinds if isinstance(value, kind)), torch.float64)
    return aten.scalar_tensor(value, dtype=dtype)
