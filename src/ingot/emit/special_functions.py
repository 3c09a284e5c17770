"""Special functions by polynomials, each fitted to PyTorch's own in float64 (`fits.py`), with the
known formulas for large and for negative arguments. Half-precision types and integers are computed
in float32; infinities and NaNs match eager's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from ingot.emit.decompositions import decomposes
from ingot.emit.fits import fit

aten = torch.ops.aten
special = torch.special

TINY = 1e-12


def defines(
    *targets: Any, dialect: str = ""
) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """Register a function of float32 or float64 tensors; other dtypes are widened."""

    def register(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        @wraps(function)
        def wide(*args: Any) -> Tensor:
            tensors = [arg for arg in args if isinstance(arg, Tensor)]
            made = function(*(_wide(arg) if isinstance(arg, Tensor) else arg for arg in args))
            halves = [t.dtype for t in tensors if t.dtype in (torch.float16, torch.bfloat16)]
            return made.to(halves[0]) if len(halves) == len(tensors) else made

        decomposes(*targets, dialect=dialect)(wide)
        return function

    return register


def _wide(x: Tensor) -> Tensor:
    return x if x.dtype in (torch.float32, torch.float64) else x.to(torch.float32)


def _tail_of(w: Tensor) -> Tensor:
    """erfinv(x) / x, where w is -log(1 - x * x)."""
    x = torch.sqrt(-torch.expm1(-w))
    return special.ndtri(torch.exp(-w) / (2 + 2 * x)) / -math.sqrt(2) / x


_NEAR_TAIL = fit(_tail_of, TINY, 6)
_FAR_TAIL = fit(lambda s: _tail_of(s * s) / s, math.sqrt(6), 9.5)
_LAST_TAIL = fit(lambda s: _tail_of(s * s) / s, 9.5, 27)


def _from_tail(q: Tensor, x: Tensor) -> Tensor:
    """erfinv(x) where x is 1 - 2 * q and not negative."""
    w = -torch.log(4 * q * (1 - q))
    root = torch.sqrt(w.clamp(min=0))
    far = torch.where(root < 9.5, _FAR_TAIL(root), _LAST_TAIL(root)) * root
    made = torch.where(w < 6, _NEAR_TAIL(w), far) * x
    made = torch.where(q == 0, math.inf, made)
    return torch.where(q >= 0, made, math.nan)


@defines(aten.erfinv.default)
def erfinv(x: Tensor) -> Tensor:
    made = _from_tail((1 - x.abs()) * 0.5, x.abs())
    return torch.where(x < 0, -made, made)


@defines(aten.special_ndtri.default)
def ndtri(p: Tensor) -> Tensor:
    q = torch.minimum(p, 1 - p)
    made = _from_tail(q, 1 - 2 * q) * math.sqrt(2)
    return torch.where(p < 0.5, -made, made)


_ERFCX = fit(
    lambda t: (lambda x: (1 + 2 * x) * special.erfcx(x))(3.75 * (1 + t) / (1 - t)), -1, 1 - TINY
)


@defines(aten.special_erfcx.default)
def erfcx(x: Tensor) -> Tensor:
    size = x.abs()
    away = size.clamp(max=1e30)
    made = _ERFCX((away - 3.75) / (away + 3.75)) / (1 + 2 * size)
    return torch.where(x < 0, 2 * torch.exp(x * x) - made, made)


@defines(aten.erfc.default)
def erfc(x: Tensor) -> Tensor:
    return torch.where(x < 0.5, 1 - torch.erf(x), torch.exp(-x * x) * erfcx(x))


@defines(aten.special_log_ndtr.default)
def log_ndtr(x: Tensor) -> Tensor:
    t = x * math.sqrt(0.5)
    low = torch.log(erfcx(-t) * 0.5) - t * t
    return torch.where(x < 1, low, torch.log1p(-0.5 * erfc(t)))


_LGAMMA = fit(lambda x: torch.lgamma(x) / ((x - 1) * (x - 2)), 1, 3.01)
_STIRLING = fit(lambda u: torch.lgamma(3 / u) - (3 / u - 0.5) * torch.log(3 / u) + 3 / u, 1e-3, 1)


@defines(aten.lgamma.default)
def lgamma(x: Tensor) -> Tensor:
    size = torch.where(x < 0.5, 1 - x, x)
    up = torch.where(size < 1, size + 1, size)
    near = (up - 1) * (up - 2) * _LGAMMA(up) - torch.where(size < 1, torch.log(size), 0.0)
    log = torch.log(size)
    far = (size - 0.5) * log - size + _STIRLING(3 / size)
    made = torch.where(size < 3, near, torch.where(size == math.inf, size, far))
    turn = (x - torch.round(x)) * math.pi
    mirrored = math.log(math.pi) - torch.log(torch.sin(turn).abs()) - made
    mirrored = torch.where((x == torch.floor(x)) & (x <= 0), math.inf, mirrored)
    return torch.where(x < 0.5, mirrored, made)


_DIGAMMA = fit(lambda u: special.digamma(4 / u) - torch.log(4 / u), 1e-4, 1)


@defines(aten.digamma.default)
def digamma(x: Tensor) -> Tensor:
    low = x < 0
    size = torch.where(low, 1 - x, x)
    before = torch.zeros_like(x)
    for _ in range(4):
        small = size < 4
        before = torch.where(small, before - 1 / size, before)
        size = torch.where(small, size + 1, size)
    made = torch.log(size) + _DIGAMMA(4 / size) + before
    turn = (x - torch.round(x)) * math.pi
    mirrored = torch.where(x == torch.floor(x), math.nan, made - math.pi / torch.tan(turn))
    made = torch.where(low, mirrored, made)
    return torch.where(x == 0, torch.where(1 / x < 0, math.inf, -math.inf), made)


def _cotangent_series(order: int) -> list[float]:
    """The derivative of this order of the cotangent, as a polynomial in the cotangent."""
    powers = [0.0, 1.0]
    for _ in range(order):
        slope = [i * p for i, p in enumerate(powers)][1:]
        powers = [-a - b for a, b in zip([*slope, 0.0, 0.0], [0.0, 0.0, *slope])]
    return powers


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730)


def _upper_polygamma(order: int, x: Tensor) -> Tensor:
    """For non-negative x: some terms of the sum, and the Euler-Maclaurin formula for the rest."""
    total = torch.zeros_like(x)
    for _ in range(8):
        total = total + x ** -(order + 1)
        x = x + 1
    rest = x**-order / order + 0.5 * x ** -(order + 1)
    for k, number in enumerate(_BERNOULLI, 1):
        factor = math.prod(range(order + 1, order + 2 * k))
        rest = rest + number * factor / math.factorial(2 * k) * x ** -(order + 2 * k)
    return (total + rest) * math.factorial(order) * (-1) ** (order + 1)


@decomposes(aten.polygamma.default)
def polygamma(order: int, x: Tensor) -> Tensor:
    if not x.dtype.is_floating_point:
        x = x.to(torch.float32)
    if order == 0:
        return torch.digamma(x)
    if x.dtype in (torch.float16, torch.bfloat16):
        return polygamma(order, x.to(torch.float32)).to(x.dtype)
    low = x < 0.5
    upper = _upper_polygamma(order, torch.where(low, 1 - x, x))
    cotangent = 1 / torch.tan((x - torch.round(x)) * math.pi)
    slope = torch.zeros_like(x)
    for power in reversed(_cotangent_series(order)):
        slope = slope * cotangent + power
    mirrored = (-1) ** order * upper - math.pi ** (order + 1) * slope
    pole = (x == torch.floor(x)) & (x <= 0)
    return torch.where(pole, math.inf * (-1) ** (order + 1), torch.where(low, mirrored, upper))
