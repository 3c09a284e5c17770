"""Decompositions of elementwise functions that torch-mlir lacks, or lacks for some dtypes."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ingot.emit.decompositions import decomposes

aten = torch.ops.aten


def _is_negative(x: Tensor) -> Tensor:
    """Whether the sign bit is set, also of a zero."""
    return (x < 0) | ((x == 0) & (1 / x < 0)) if x.dtype.is_floating_point else x < 0


@decomposes(aten.copysign.Tensor)
def copysign(x: Tensor, y: Tensor) -> Tensor:
    if not x.dtype.is_floating_point:
        x = x.to(torch.promote_types(torch.float32, y.dtype))
    size = x.abs()
    return torch.where(_is_negative(y), -size, size)


@decomposes(aten.signbit.default)
def signbit(x: Tensor) -> Tensor:
    return _is_negative(x)


@decomposes(aten.frexp.Tensor)
def frexp(x: Tensor) -> tuple[Tensor, Tensor]:
    """Scaled by powers of two, which is exact, until it is between a half and one."""
    if x.dtype not in (torch.float32, torch.float64):
        return NotImplemented
    special = (x == 0) | (x != x) | (x.abs() == math.inf)
    tiny = x.abs() < torch.finfo(x.dtype).tiny
    rest = torch.where(special, 1, torch.where(tiny, x * 2.0**64, x))
    exponent = torch.where(tiny, -64, 0)
    bits = 7 if x.dtype is torch.float32 else 10
    for step in (1 << i for i in reversed(range(bits))):
        large, small = rest.abs() >= 2.0**step, rest.abs() < 2.0**-step
        rest = torch.where(large, rest * 2.0**-step, torch.where(small, rest * 2.0**step, rest))
        exponent = exponent + torch.where(large, step, torch.where(small, -step, 0))
    large, small = rest.abs() >= 1, rest.abs() < 0.5
    rest = torch.where(large, rest * 0.5, torch.where(small, rest * 2, rest))
    exponent = exponent + torch.where(large, 1, torch.where(small, -1, 0))
    return torch.where(special, x, rest), torch.where(special, 0, exponent).to(torch.int32)


_EUCLID = {torch.int8: 12, torch.uint8: 13, torch.int16: 23, torch.int32: 46, torch.int64: 92}
"""The most steps that Euclid's algorithm takes: on neighbouring Fibonacci numbers."""


@decomposes(aten.gcd.default)
def gcd(x: Tensor, y: Tensor) -> Tensor:
    dtype = torch.promote_types(x.dtype, y.dtype)
    x, y = torch.broadcast_tensors(x.to(dtype).abs(), y.to(dtype).abs())
    for _ in range(_EUCLID[dtype]):
        done = y == 0
        x, y = torch.where(done, x, y), torch.where(done, 0, x % torch.where(done, 1, y))
    return x


@decomposes(aten.lcm.default)
def lcm(x: Tensor, y: Tensor) -> Tensor:
    common = gcd(x, y)
    safe = torch.where(common == 0, 1, common)
    return (torch.div(x, safe, rounding_mode="floor") * y).abs()


@decomposes(aten.hypot.default)
def hypot(x: Tensor, y: Tensor) -> Tensor:
    """The larger operand times a root, so that no square overflows."""
    x, y = x.abs(), y.abs()
    large, small = torch.maximum(x, y), torch.minimum(x, y)
    ratio = torch.where(large == 0, 0, small / torch.where(large == 0, 1, large))
    made = large * torch.sqrt(1 + ratio * ratio)
    return torch.where((x == math.inf) | (y == math.inf), math.inf, made)


@decomposes(aten.logcumsumexp.default)
def logcumsumexp(x: Tensor, dim: int) -> Tensor:
    """Inclusive scan by doubling: each step adds the element twice as far back."""
    if x.dim() == 0:
        return x.clone()
    size = x.shape[dim]
    if not isinstance(size, int) or not x.dtype.is_floating_point:
        return NotImplemented
    behind, distance = x.dim() - 1 - dim % x.dim(), 1
    while distance < size:
        padding = [0, 0] * behind + [distance, 0]
        moved = aten.constant_pad_nd(x.narrow(dim, 0, size - distance), padding, -math.inf)
        large, small = torch.maximum(x, moved), torch.minimum(x, moved)
        gap = torch.where(small == -math.inf, -math.inf, small - large)
        x = large + torch.log1p(torch.exp(gap))
        distance *= 2
    return x


@decomposes(aten.pow.Scalar, dialect="tosa")
def power_of_a_number(base: Any, exponent: Tensor) -> Tensor:
    if not exponent.dtype.is_floating_point or isinstance(base, complex):
        return NotImplemented
    return torch.full_like(exponent, float(base)) ** exponent


@decomposes(aten.angle.default)
def angle(x: Tensor) -> Tensor:
    """The angle of a real number is 0 or pi."""
    if x.dtype.is_complex:
        return NotImplemented
    turned = torch.where(x < 0, math.pi, 0.0)
    return torch.where(x != x, x, turned.to(x.dtype)) if x.dtype.is_floating_point else turned
