"""Fourier transforms on real and imaginary parts: matmuls with matrices of cosines and sines. The
matrices are computed where they are used, so that the text stays short. A long transform is split
recursively by the factors of its size. Any size is supported; a dynamic size or a large prime is
one matmul.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ingot.emit.pair_rules import Pair, on, times

aten = torch.ops.aten

TRANSFORMS = (aten._fft_c2c.default, aten._fft_r2c.default, aten._fft_c2r.default)

DIRECT = 64
"""Up to this size a transform is one matmul."""


@on(aten._fft_c2c.default)
def complex_to_complex(
    op: Any, x: Pair, dims: Sequence[int], normalization: int, forward: bool
) -> Pair:
    for dim in dims:
        x = _along(x, dim, -1 if forward else 1)
    return _scaled(x, dims, normalization)


@on(aten._fft_r2c.default)
def real_to_complex(
    op: Any, x: Tensor, dims: Sequence[int], normalization: int, onesided: bool
) -> Pair:
    *others, last = dims
    size = x.shape[last]
    made = _along(Pair(x, None), last, -1)
    for dim in others:
        made = _along(made, dim, -1)
    made = _scaled(made, dims, normalization)
    if not onesided:
        return made
    half = size // 2 + 1
    return Pair(made.re.narrow(last, 0, half), made.im.narrow(last, 0, half))


@on(aten._fft_c2r.default)
def complex_to_real(op: Any, x: Pair, dims: Sequence[int], normalization: int, size: int) -> Tensor:
    """The missing half is the conjugate of the given half, reversed."""
    *others, last = dims
    for dim in others:
        x = _along(x, dim, 1)
    behind = size - x.re.shape[last]
    re, im = (part.narrow(last, 1, behind).flip(last) for part in (x.re, x.im))
    whole = Pair(torch.cat([x.re, re], last), torch.cat([x.im, -im], last))
    return _scaled(_along(whole, last, 1), dims, normalization).re


def _along(x: Pair, dim: int, sign: int) -> Pair:
    moved = Pair(x.re.movedim(dim, -1), None if x.im is None else x.im.movedim(dim, -1))
    made = _transformed(moved, sign)
    return Pair(made.re.movedim(-1, dim), made.im.movedim(-1, dim))


def _scaled(x: Pair, dims: Sequence[int], normalization: int) -> Pair:
    """PyTorch's normalization: 0 none, 1 by the root of the size, 2 by the size."""
    if normalization == 0:
        return x
    size = math.prod(x.re.shape[dim] for dim in dims)
    factor = 1 / size if normalization == 2 else 1 / size**0.5
    return Pair(x.re * factor, x.im * factor)


def _transformed(x: Pair, sign: int) -> Pair:
    """Transform along the last dim."""
    size = x.re.shape[-1]
    first = _factor(size)
    if first == 1:
        return _product(x, _turns(size, size, size, sign, x.re.dtype))
    grid = _each(x, lambda part: part.unflatten(-1, (first, size // first)).transpose(-1, -2))
    columns = _each(_transformed(grid, sign), lambda part: part.transpose(-1, -2))
    turned = times(columns, _turns(first, size // first, size, sign, x.re.dtype))
    return _each(_transformed(turned, sign), lambda part: part.transpose(-1, -2).flatten(-2))


def _factor(size: int) -> int:
    """The largest divisor up to the square root; 1 if the size is not worth splitting."""
    if not isinstance(size, int) or size <= DIRECT:
        return 1
    return next(n for n in range(math.isqrt(size), 0, -1) if size % n == 0)


def _each(x: Pair, change: Any) -> Pair:
    return Pair(change(x.re), None if x.im is None else change(x.im))


def _turns(rows: int, columns: int, size: int, sign: int, dtype: torch.dtype) -> Pair:
    """Twiddle factors: cosine and sine of 2 pi * row * column / size."""
    steps = torch.remainder(torch.arange(rows).unsqueeze(1) * torch.arange(columns), size)
    near = torch.where(steps * 2 > size, steps - size, steps)
    angle = near.to(dtype) * (2 * math.pi / size)
    return Pair(angle.cos(), angle.sin() * sign)


def _product(x: Pair, y: Pair) -> Pair:
    """A complex matmul; a real left operand has None as imaginary part."""
    re, im = _times(x.re, y.re), _times(x.re, y.im)
    if x.im is None:
        return Pair(re, im)
    return Pair(re - _times(x.im, y.im), im + _times(x.im, y.re))


def _times(x: Tensor, y: Tensor) -> Tensor:
    return torch.mm(x.reshape(-1, x.shape[-1]), y).reshape(*x.shape[:-1], y.shape[1])
