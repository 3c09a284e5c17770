"""Decompositions that torch-mlir lacks or gets wrong. Each rewrites one op into ops that its
pipelines know. Tensors are values here, so strides do not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from ingot.passes.expand import APPLIES

aten = torch.ops.aten

Decomposition = Callable[..., Any]

own_decompositions: dict[str, dict[Any, Decomposition]] = {"": {}}
"""By dialect; "" stands for all dialects without a decomposition of their own."""


def decomposes(
    *targets: Any, when: Callable[[Node], bool] | None = None, dialect: str = ""
) -> Callable[[Decomposition], Decomposition]:
    """Register a decomposition. `when` limits it to some nodes, `dialect` to one dialect."""
    table = own_decompositions.setdefault(dialect, {})

    def register(function: Decomposition) -> Decomposition:
        if when is not None:
            APPLIES[function] = when
        for target in targets:
            if target in table:
                raise ValueError(f"{target} is decomposed already")
            table[target] = function
        return function

    return register


def _integers(node: Node) -> bool:
    vals = [source.meta["val"] for source in node.all_input_nodes]
    dtypes = [val.dtype for val in vals if isinstance(val, Tensor)]
    return not any(d.is_floating_point or d.is_complex for d in dtypes)


def _dynamic(node: Node) -> bool:
    source: Any = node.args[0]
    return any(not isinstance(size, int) for size in source.meta["val"].shape)


@decomposes(aten.gelu.default)
def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """torch-mlir's tanh form has rounded constants."""
    if approximate == "tanh":
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)
        return 0.5 * x * (1.0 + torch.tanh(inner))
    return 0.5 * x * (1.0 + torch.erf(x * math.sqrt(0.5)))


@decomposes(aten.var_mean.correction)
def var_mean(
    x: Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    """Computes in the dtype of the input; torch-mlir's decomposition goes through float64."""
    dims = list(range(x.dim())) if dim is None else list(dim)
    count = math.prod(x.shape[d] for d in dims)
    if x.dtype.is_complex or not isinstance(count, int):
        return NotImplemented
    mean = x.sum(dims, keepdim=True) / count
    far = x - mean
    rest = max(0, count - (1 if correction is None else correction))
    variance = (far * far).sum(dims, keepdim=keepdim) / rest
    return variance, mean if keepdim else x.sum(dims) / count


@decomposes(aten.split_with_sizes.default, when=_dynamic)
def split_with_sizes(x: Tensor, sizes: list[int], dim: int = 0) -> tuple[Tensor, ...]:
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return tuple(x.narrow(dim, start, size) for start, size in zip(starts, sizes))


@decomposes(aten.roll.default)
def roll(x: Tensor, shifts: list[int], dims: list[int] | None = None) -> Tensor:
    if not dims:
        return roll(x.reshape(-1), shifts, [0]).reshape(x.shape)
    for shift, dim in zip(shifts, dims):
        size = x.shape[dim]
        if not isinstance(size, int) or size == 0:
            return NotImplemented
        start = -shift % size
        parts = [x.narrow(dim, start, size - start), x.narrow(dim, 0, start)]
        x = torch.cat(parts, dim) if start else x
    return x


@decomposes(aten.diagonal.default)
def diagonal(x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """An index_select on the flattened rows and columns."""
    x = x.movedim((dim1, dim2), (-2, -1))
    rows, columns = x.shape[-2:]
    if not isinstance(rows, int) or not isinstance(columns, int):
        return NotImplemented
    below, beyond = max(0, -offset), max(0, offset)
    count = max(0, min(rows - below, columns - beyond))
    places = torch.arange(count) * (columns + 1) + below * columns + beyond
    return x.flatten(-2).index_select(-1, places)


@decomposes(aten.unfold.default)
def unfold(x: Tensor, dim: int, size: int, step: int) -> Tensor:
    if x.dim() == 0:
        return x.reshape(1).narrow(0, 0, size)
    if not isinstance(x.shape[dim], int):
        return NotImplemented
    dim = dim % x.dim()
    count = (x.shape[dim] - size) // step + 1
    places = (torch.arange(count) * step).unsqueeze(1) + torch.arange(size)
    picked = x.index_select(dim, places.reshape(-1))
    return picked.unflatten(dim, (count, size)).movedim(dim + 1, -1)


@decomposes(aten.remainder.Tensor, aten.remainder.Scalar, when=_integers)
def remainder(x: Tensor, y: Any) -> Tensor:
    """Of integers, with the sign of the divisor; StableHLO's has the sign of the dividend."""
    if isinstance(y, float):
        return NotImplemented
    return x - torch.div(x, y, rounding_mode="floor") * y


@decomposes(aten.relu.default, when=_integers)
def integer_relu(x: Tensor) -> Tensor:
    return torch.clamp(x, min=0)


@decomposes(aten.pow.Tensor_Scalar, when=_integers)
def integer_power(x: Tensor, exponent: Any) -> Tensor:
    if exponent not in range(1, 9):
        return NotImplemented
    power = x
    for _ in range(exponent - 1):
        power = power * x
    return power


@decomposes(aten.__lshift__.Scalar)
def shifted_left(x: Tensor, count: int) -> Tensor:
    return x * 2**count


@decomposes(aten.__rshift__.Scalar)
def shifted_right(x: Tensor, count: int) -> Tensor:
    return torch.div(x, 2**count, rounding_mode="floor")


@decomposes(aten._unique2.default)
def unique(
    x: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The first element of each run of equal values, after sorting."""
    values, order = torch.sort(x.reshape(-1))
    first = torch.ones_like(values[:1], dtype=torch.bool)
    starts = torch.cat([first, values[1:] != values[:-1]])
    places = torch.nonzero(starts).reshape(-1)
    nothing = x.new_empty(0, dtype=torch.int64)
    inverse, counts = nothing, nothing
    if return_inverse:
        groups = torch.cumsum(starts.to(torch.int64), 0) - 1
        inverse = torch.zeros_like(groups).scatter(0, order, groups).reshape(x.shape)
    if return_counts:
        ends = torch.cat([places[1:], torch.full_like(places[:1], x.numel())])
        counts = ends - places
    return values[places], inverse, counts


@decomposes(aten.scatter.value)
def scatter_value(x: Tensor, dim: int, index: Tensor, value: float) -> Tensor:
    hit = _one_place(x, dim, index)
    return NotImplemented if hit is None else torch.where(hit, value, x)


@decomposes(aten.scatter.src)
def scatter_source(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    hit = _one_place(x, dim, index)
    if hit is None or source.shape != index.shape:
        return NotImplemented
    return torch.where(hit, source, x)


@decomposes(aten.scatter_add.default)
def scatter_add(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    hit = _one_place(x, dim, index)
    if hit is None or source.shape != index.shape:
        return NotImplemented
    return x + torch.where(hit, source, torch.zeros((), dtype=x.dtype))


def _one_place(x: Tensor, dim: int, index: Tensor) -> Tensor | None:
    """A mask of the written positions if each row is written once, so that no scatter is needed."""
    if x.dim() == 0:
        return None
    dim = dim % x.dim()
    sizes = [*x.shape[:dim], 1, *x.shape[dim + 1 :]]
    if any(not isinstance(n, int) for n in x.shape) or list(index.shape) != sizes:
        return None
    shape = [-1 if i == dim else 1 for i in range(x.dim())]
    return torch.arange(x.shape[dim]).reshape(shape) == index


@decomposes(aten.cumsum.default)
def cumsum(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
    if x.dim() and not isinstance(x.shape[dim], int):
        return _masked_sum(x, dim, dtype)
    return _scan(x, dim, dtype, torch.add, 0)


def _masked_sum(x: Tensor, dim: int, dtype: torch.dtype | None) -> Tensor:
    """For a dynamic size: prefix sums under a triangular mask."""
    dtype = dtype or _sum_dtype(x)
    x = x.to(dtype).movedim(dim, -1)
    places = torch.arange(x.shape[-1])
    before = places <= places.unsqueeze(1)
    picked = torch.where(before, x.unsqueeze(-2), torch.zeros((), dtype=dtype))
    return picked.sum(-1, dtype=dtype).movedim(-1, dim)


def _sum_dtype(x: Tensor) -> torch.dtype:
    return x.dtype if x.dtype.is_floating_point or x.dtype.is_complex else torch.int64


@decomposes(aten.cumprod.default)
def cumprod(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
    return _scan(x, dim, dtype, torch.mul, 1)


def _scan(
    x: Tensor,
    dim: int,
    dtype: torch.dtype | None,
    combine: Callable[[Tensor, Tensor], Tensor],
    neutral: int,
) -> Tensor:
    """Inclusive scan by doubling: each step combines elements twice as far apart, so that it takes
    as many steps as the size has bits."""
    x = x.to(dtype or _sum_dtype(x))
    if x.dim() == 0:
        return x
    size = x.shape[dim]
    if not isinstance(size, int):
        return NotImplemented
    behind = x.dim() - 1 - dim % x.dim()
    distance = 1
    while distance < size:
        padding = [0, 0] * behind + [distance, 0]
        moved = aten.constant_pad_nd(x.narrow(dim, 0, size - distance), padding, neutral)
        x = combine(x, moved)
        distance *= 2
    return x


@decomposes(aten.any.dims)
def any_along(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Reduces one dim after the other."""
    dims = sorted(d % max(x.dim(), 1) for d in (range(x.dim()) if dim is None else dim))
    x = x != 0
    for d in reversed(dims):
        x = x if x.dim() == 0 else x.any(d, keepdim)
    return x
