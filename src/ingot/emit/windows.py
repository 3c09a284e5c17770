"""Decompositions of pooling into static gathers: the elements of each window become a last dim,
which is reduced. They cover what a dialect's own pooling ops do not: returned indices, ceil mode,
uncounted padding, one and three dims, adaptive sizes. The pooled dims have static sizes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from ingot.emit.decompositions import decomposes
from ingot.passes.expand import known_size

aten = torch.ops.aten


def _spread(numbers: Any, dims: int, default: Any = None) -> list[int]:
    numbers = [numbers] if isinstance(numbers, int) else list(numbers or default or [])
    return numbers * dims if len(numbers) == 1 else numbers


def _sizes(x: Tensor, dims: int) -> list[int] | None:
    sizes = [known_size(x, i - dims) for i in range(dims)]
    return None if None in sizes else sizes  # type: ignore[return-value]


def _count(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> int:
    """The number of windows; the last one begins inside the input or in the leading padding."""
    rest = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (rest + (stride - 1 if ceil else 0)) // stride + 1
    return count - 1 if ceil and (count - 1) * stride >= size + padding else count


class Windows:
    """The positions of a pool's windows, dim by dim."""

    def __init__(self, sizes: Sequence[int], kernel: Any, stride: Any, padding: Any,
                 dilation: Any, ceil: bool) -> None:  # fmt: skip
        dims = len(sizes)
        self.sizes, self.kernel = list(sizes), _spread(kernel, dims)
        self.stride = _spread(stride, dims, self.kernel)
        self.padding, self.dilation = _spread(padding, dims), _spread(dilation, dims)
        self.counts = [
            _count(*numbers, ceil)
            for numbers in zip(self.sizes, self.kernel, self.stride, self.padding, self.dilation)
        ]

    def starts(self, dim: int) -> range:
        begin, step = -self.padding[dim], self.stride[dim]
        return range(begin, begin + self.counts[dim] * step, step)

    def of(self, x: Tensor, fill: float) -> Tensor:
        """The elements of all windows, each window a row of the last dim."""
        dims = len(self.sizes)
        for dim in range(dims):
            axis, kernel, step = x.dim() - dims + dim, self.kernel[dim], self.dilation[dim]
            last = self.starts(dim)[-1] + (kernel - 1) * step
            after = max(0, last - self.sizes[dim] + 1)
            padding = [0, 0] * (dims - 1 - dim) + [self.padding[dim], after]
            x = aten.constant_pad_nd(x, padding, fill) if any(padding) else x
            places = (torch.arange(self.counts[dim]) * self.stride[dim]).unsqueeze(1)
            places = (places + torch.arange(kernel) * step).reshape(-1)
            x = x.index_select(axis, places)
        shape = [n for pair in zip(self.counts, self.kernel) for n in pair]
        x = x.reshape(*x.shape[: x.dim() - dims], *shape)
        lead = x.dim() - 2 * dims
        order = [*range(lead), *range(lead, x.dim(), 2), *range(lead + 1, x.dim(), 2)]
        return x.permute(order).flatten(-dims)

    def places(self, picked: Tensor) -> Tensor:
        """The flat index in the image of the element chosen from each window."""
        made, dims = torch.zeros_like(picked), len(self.sizes)
        for dim in range(dims):
            inner = math.prod(self.kernel[dim + 1 :])
            inside = torch.div(picked, inner, rounding_mode="floor") % self.kernel[dim]
            shape = [-1 if i == dim else 1 for i in range(dims)]
            starts = torch.arange(self.counts[dim]) * self.stride[dim] - self.padding[dim]
            place = inside * self.dilation[dim] + starts.reshape(shape)
            made = made * self.sizes[dim] + place
        return made

    def divisors(self, with_border: bool) -> list[int]:
        """The number of elements that each window averages: padding counts if `with_border`,
        positions beyond the padding never."""
        spans = []
        for dim, size in enumerate(self.sizes):
            border = self.padding[dim] if with_border else 0
            spans.append([
                min(start + self.kernel[dim], size + border) - max(start, -border)
                for start in self.starts(dim)
            ])  # fmt: skip
        return [math.prod(numbers) for numbers in itertools.product(*spans)]


def _max_pool(dims: int, x: Tensor, kernel: Any, stride: Any = (), padding: Any = 0,
              dilation: Any = 1, ceil: bool = False) -> Any:  # fmt: skip
    sizes = _sizes(x, dims)
    if sizes is None:
        return NotImplemented
    windows = Windows(sizes, kernel, stride, padding, dilation, ceil)
    lowest = -math.inf if x.dtype.is_floating_point else torch.iinfo(x.dtype).min
    rows = windows.of(x, lowest)
    return rows.amax(-1), windows.places(rows.argmax(-1))


def _avg_pool(dims: int, x: Tensor, kernel: Any, stride: Any = (), padding: Any = 0,
              ceil: bool = False, with_border: bool = True,
              divisor: int | None = None) -> Any:  # fmt: skip
    sizes = _sizes(x, dims)
    if sizes is None:
        return NotImplemented
    windows = Windows(sizes, kernel, stride, padding, 1, ceil)
    total = windows.of(x, 0).sum(-1)
    if divisor is not None:
        return total / divisor
    counts = windows.divisors(with_border)
    if len(set(counts)) == 1:
        return total / counts[0]
    return total / torch.tensor(counts, dtype=total.dtype).reshape(windows.counts)


def _index_is_read(node: Node) -> bool:
    return any(user.args[1] == 1 for user in node.users)


def _plain(node: Node, ceil: int) -> bool:
    """A pool that all dialects have: no ceil mode. PyTorch limits padding to half a window."""
    return not (len(node.args) > ceil and node.args[ceil])


def _odd_max(node: Node) -> bool:
    return _index_is_read(node) or not _plain(node, 5)


def _odd_average(node: Node) -> bool:
    counted = len(node.args) > 5 and not node.args[5]
    return not _plain(node, 4) or counted or (len(node.args) > 6 and node.args[6] is not None)


def max_pool2d(*args: Any) -> Any:
    return _max_pool(2, *args)


def max_pool3d(*args: Any) -> Any:
    return _max_pool(3, *args)


def avg_pool2d(*args: Any) -> Any:
    return _avg_pool(2, *args)


def avg_pool3d(*args: Any) -> Any:
    return _avg_pool(3, *args)


def _inside(size: int, count: int) -> Tensor:
    """Whether a position is in a window: a mask of shape (windows, positions)."""
    windows = torch.arange(count).unsqueeze(1)
    begin = torch.div(windows * size, count, rounding_mode="floor")
    end = torch.div((windows + 1) * size + count - 1, count, rounding_mode="floor")
    places = torch.arange(size)
    return (places >= begin) & (places < end)


def adaptive_avg_pool(x: Tensor, counts: Any) -> Tensor:
    """One matmul for each dim."""
    sizes = _sizes(x, len(counts))
    if sizes is None or not all(isinstance(count, int) for count in counts):
        return NotImplemented
    for i, (size, count) in enumerate(zip(sizes, counts)):
        axis = i - len(counts)
        inside = _inside(size, count).to(x.dtype)
        shares = inside / inside.sum(1, keepdim=True)
        x = (x.movedim(axis, -1) @ shares.t()).movedim(-1, axis)
    return x


def adaptive_max_pool(x: Tensor, counts: Any) -> tuple[Tensor, Tensor]:
    """Each window reduces the whole image, with the elements outside of the window masked."""
    sizes = _sizes(x, len(counts))
    if sizes is None or not all(isinstance(count, int) for count in counts):
        return NotImplemented
    dims = len(counts)
    inside = torch.ones((), dtype=torch.bool)
    for i, (size, count) in enumerate(zip(sizes, counts)):
        shape = [1] * (2 * dims)
        shape[i], shape[dims + i] = count, size
        inside = inside & _inside(size, count).reshape(shape)
    whole = x.reshape(*x.shape[: x.dim() - dims], *[1] * dims, *sizes)
    rows = torch.where(inside, whole, -math.inf).flatten(-dims)
    return rows.amax(-1), rows.argmax(-1)


for _dialect in ("tosa", "stablehlo"):
    decomposes(aten.max_pool2d_with_indices.default, when=_odd_max, dialect=_dialect)(max_pool2d)
    decomposes(aten.max_pool3d_with_indices.default, dialect=_dialect)(max_pool3d)
    decomposes(aten.avg_pool2d.default, when=_odd_average, dialect=_dialect)(avg_pool2d)
    decomposes(aten.avg_pool3d.default, dialect=_dialect)(avg_pool3d)
    decomposes(aten._adaptive_avg_pool3d.default, dialect=_dialect)(adaptive_avg_pool)
    decomposes(
        aten.adaptive_max_pool2d.default, aten.adaptive_max_pool3d.default, dialect=_dialect
    )(adaptive_max_pool)
