"""Edge values of dtypes: limits, powers of two and their neighbours, halfway cases of rounding,
denormals, zeros of both signs, infinities, NaN."""

from __future__ import annotations

import math

import torch
from torch import Tensor

INTEGERS = (
    torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16,
    torch.int32, torch.int64,
)  # fmt: skip
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
COMPLEX = (torch.complex64, torch.complex128)
PRECISIONS = (8, 9, 11, 12, 24, 25, 53, 54)
"""Significant bits of the float types, and one more bit for halfway cases."""
BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def edges(dtype: torch.dtype) -> Tensor:
    if dtype is torch.bool:
        return torch.tensor([True, False, True])
    if dtype.is_complex:
        part = _floats(torch.float32 if dtype is torch.complex64 else torch.float64)
        return torch.complex(part, part.flip(0))
    return _floats(dtype) if dtype.is_floating_point else _integers(dtype)


def _integers(dtype: torch.dtype) -> Tensor:
    limits = torch.iinfo(dtype)
    found = {0, 65504, 65519, 65520, 65521, 70001, -65519, -65520, limits.min, limits.max}
    for power in range(65):
        near = [1 << power]
        near += [(1 << power) + k * (1 << (power - p)) for p in PRECISIONS if p < power
                 for k in (1, 3)]  # fmt: skip
        found |= {sign * each + step for each in near for sign in (1, -1) for step in (-1, 0, 1)}
    fitting = sorted(each for each in found if limits.min <= each <= limits.max)
    wrapped = [each - (1 << 64) if each >> 63 == 1 else each for each in fitting]
    return torch.tensor(wrapped).to(dtype)


def _floats(dtype: torch.dtype) -> Tensor:
    found = [0.0, 0.5, 0.1, 0.9, 5e-324, 1e-310, 1e-45, 1e-40, 3e-8, 6e-8, 1e-7, 3.39e38]
    found += [3.4028235e38, 1e300, 65519.99, 127.9, 255.9, math.inf, math.nan]
    for power in (7, 8, 11, 15, 16, 24, 31, 32, 53, 63, 64):
        found += [2.0**power - 1, 2.0**power, 2.0**power + 1]
    for power in range(-30, 66, 5):
        for p in PRECISIONS:
            halfway = [2.0**power * (1 + k * 2.0**-p) for k in (1, 3)]
            found += [*halfway, *(each * (1 + 2.0**-30) for each in halfway)]
    both = [sign * each for each in found for sign in (1, -1)]
    return torch.tensor(both, dtype=torch.float64).to(dtype)


def is_defined(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Elements whose conversion C++ defines: a float converted to an integer must be in range."""
    x = x.real if x.is_complex() else x
    plain = dtype is torch.bool or dtype.is_floating_point or dtype.is_complex
    if plain or not x.is_floating_point():
        return torch.ones(x.shape, dtype=torch.bool)
    limits, whole = torch.iinfo(dtype), x.double().trunc()
    return (whole >= limits.min) & (whole < float(limits.max + 1))


def same_bits(actual: Tensor, expected: Tensor) -> Tensor:
    """Elementwise bit equality: -0.0 differs from 0.0, and all NaNs are equal."""
    assert actual.dtype is expected.dtype and actual.shape == expected.shape
    if expected.is_complex():
        pair = same_bits(torch.view_as_real(actual), torch.view_as_real(expected))
        return pair.all(-1)
    kind = BITS[expected.element_size()]
    same = actual.contiguous().view(kind) == expected.contiguous().view(kind)
    if expected.is_floating_point():
        same = same | (actual.isnan() & expected.isnan())
    return same


def drawn(dtype: torch.dtype, count: int, seed: int) -> Tensor:
    """`count` random edge values."""
    known = edges(dtype)
    at = torch.randint(len(known), (count,), generator=torch.Generator().manual_seed(seed))
    return known.view(BITS[known.element_size()])[at].view(dtype)
