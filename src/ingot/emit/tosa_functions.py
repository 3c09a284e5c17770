"""Functions that TOSA has no op for, by exp, log, sqrt and polynomials."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ingot.emit.fits import fit
from ingot.emit.special_functions import TINY, defines

aten = torch.ops.aten

_ATAN = fit(lambda q: torch.atan(torch.sqrt(q)) / torch.sqrt(q), TINY, 1)
_SINH = fit(lambda q: torch.sinh(torch.sqrt(q)) / torch.sqrt(q), TINY, 1)
_ATANH = fit(lambda q: torch.atanh(torch.sqrt(q)) / torch.sqrt(q), TINY, 0.25)


def _with_sign_of(x: Tensor, size: Tensor) -> Tensor:
    return torch.where(x < 0, -size, size)


def _atan_of_ratio(y: Tensor, x: Tensor) -> Tensor:
    """atan2 of non-negative values."""
    large, small = torch.maximum(x, y), torch.minimum(x, y)
    both = (x == math.inf) & (y == math.inf)
    ratio = torch.where(large == 0, 0, small / torch.where(large == 0, 1, large))
    ratio = torch.where(both, 1, ratio)
    made = ratio * _ATAN(ratio * ratio)
    return torch.where(y > x, math.pi / 2 - made, made)


@defines(aten.atan2.default, dialect="tosa")
def atan2(y: Tensor, x: Tensor) -> Tensor:
    made = _atan_of_ratio(y.abs(), x.abs())
    left = (x < 0) | ((x == 0) & (1 / x < 0))
    made = torch.where(left, math.pi - made, made)
    made = torch.where((y < 0) | ((y == 0) & (1 / y < 0)), -made, made)
    return torch.where((x != x) | (y != y), math.nan, made)


@defines(aten.asin.default, dialect="tosa")
def asin(x: Tensor) -> Tensor:
    size = x.abs()
    made = _atan_of_ratio(size, torch.sqrt((1 - size) * (1 + size)))
    return torch.where(size <= 1, _with_sign_of(x, made), math.nan)


@defines(aten.acos.default, dialect="tosa")
def acos(x: Tensor) -> Tensor:
    made = _atan_of_ratio(torch.sqrt((1 - x) * (1 + x)), x.abs())
    made = torch.where(x < 0, math.pi - made, made)
    return torch.where(x.abs() <= 1, made, math.nan)


@defines(aten.sinh.default, dialect="tosa")
def sinh(x: Tensor) -> Tensor:
    half = torch.exp(x.abs() * 0.5)
    far = (half * 0.5) * half - (0.5 / half) / half
    return torch.where(x.abs() < 1, x * _SINH(x * x), _with_sign_of(x, far))


@defines(aten.cosh.default, dialect="tosa")
def cosh(x: Tensor) -> Tensor:
    half = torch.exp(x.abs() * 0.5)
    return (half * 0.5) * half + (0.5 / half) / half


@defines(aten.asinh.default, dialect="tosa")
def asinh(x: Tensor) -> Tensor:
    size = x.abs()
    root = torch.sqrt(1 + size * size)
    near = torch.log1p(size + size * (size / (1 + root)))
    far = torch.log(size) + math.log(2)
    return _with_sign_of(x, torch.where(size < 1e4, near, far))


@defines(aten.acosh.default, dialect="tosa")
def acosh(x: Tensor) -> Tensor:
    beyond = x - 1
    near = torch.log1p(beyond + torch.sqrt(beyond * (x + 1)))
    far = torch.log(x) + math.log(2)
    return torch.where(x < 1, math.nan, torch.where(x < 1e4, near, far))


@defines(aten.atanh.default, dialect="tosa")
def atanh(x: Tensor) -> Tensor:
    far = 0.5 * torch.log((1 + x) / (1 - x))
    return torch.where(x.abs() < 0.5, x * _ATANH(x * x), far)
