"""Bessel functions by polynomials fitted to PyTorch's own in float64 (`fits.py`): a series for
small arguments, and for large ones a fit of the function divided by its known asymptotic growth.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ingot.emit.fits import Fit, fit
from ingot.emit.special_functions import TINY, defines

aten = torch.ops.aten
special = torch.special

Function = Callable[[Tensor], Tensor]

_SCALED = {
    "i0": (fit(special.i0e, 0, 8), special.i0e),
    "i1": (fit(lambda x: special.i1e(x) / x, TINY, 8), special.i1e),
}
_SCALED_FAR = {
    name: fit(lambda u, f=function: f(8 / u) * torch.sqrt(8 / u), 1e-5, 1)  # type: ignore[misc]
    for name, (_, function) in _SCALED.items()
}


def _scaled(name: str, size: Tensor) -> Tensor:
    """The function divided by exp(size)."""
    near = _SCALED[name][0](size) * (size if name == "i1" else 1)
    far = _SCALED_FAR[name](8 / size) / torch.sqrt(size)
    return torch.where(size < 8, near, far)


@defines(aten.special_i0e.default)
def i0e(x: Tensor) -> Tensor:
    return _scaled("i0", x.abs())


@defines(aten.special_i1e.default)
def i1e(x: Tensor) -> Tensor:
    made = _scaled("i1", x.abs())
    return torch.where(x < 0, -made, made)


@defines(aten.i0.default, aten.special_modified_bessel_i0.default)
def i0(x: Tensor) -> Tensor:
    return torch.exp(x.abs()) * _scaled("i0", x.abs())


@defines(aten.special_i1.default, aten.special_modified_bessel_i1.default)
def i1(x: Tensor) -> Tensor:
    made = torch.exp(x.abs()) * _scaled("i1", x.abs())
    return torch.where(x < 0, -made, made)


def _k_near(order: int, q: Tensor) -> Tensor:
    """K without its logarithm times I, as a function of the square of the argument."""
    x = torch.sqrt(q)
    if order == 0:
        return special.modified_bessel_k0(x) + torch.log(x / 2) * special.i0(x)
    return (special.modified_bessel_k1(x) - torch.log(x / 2) * special.i1(x)) * x


_K_NEAR = [fit(lambda q, n=n: _k_near(n, q), TINY, 4) for n in (0, 1)]  # type: ignore[misc]
_K_FAR = [
    fit(lambda u, f=function: f(2 / u) * torch.sqrt(2 / u), 1e-5, 1)  # type: ignore[misc]
    for function in (special.scaled_modified_bessel_k0, special.scaled_modified_bessel_k1)
]


def _k(order: int, x: Tensor, *, scaled: bool) -> Tensor:
    log, near = torch.log(x * 0.5), _K_NEAR[order](x * x)
    near = near - log * i0(x) if order == 0 else near / x + log * i1(x)
    far = _K_FAR[order](2 / x) / torch.sqrt(x)
    if scaled:
        near = near * torch.exp(x)
    else:
        far = far * torch.exp(-x)
    made = torch.where(x <= 2, near, far)
    made = torch.where(x == 0, math.inf, made)
    return torch.where(x < 0, math.nan, made)


@defines(aten.special_modified_bessel_k0.default)
def k0(x: Tensor) -> Tensor:
    return _k(0, x, scaled=False)


@defines(aten.special_modified_bessel_k1.default)
def k1(x: Tensor) -> Tensor:
    return _k(1, x, scaled=False)


@defines(aten.special_scaled_modified_bessel_k0.default)
def scaled_k0(x: Tensor) -> Tensor:
    return _k(0, x, scaled=True)


@defines(aten.special_scaled_modified_bessel_k1.default)
def scaled_k1(x: Tensor) -> Tensor:
    return _k(1, x, scaled=True)


_J = (special.bessel_j0, special.bessel_j1)
_Y = (special.bessel_y0, special.bessel_y1)
NEAR = 5.0


def _j_near(order: int, q: Tensor) -> Tensor:
    x = torch.sqrt(q)
    return _J[order](x) / x**order


def _y_near(order: int, q: Tensor) -> Tensor:
    """Y without its logarithm times J and its pole."""
    x = torch.sqrt(q)
    log = 2 / math.pi * torch.log(x) * _J[order](x)
    pole = 2 / math.pi / x if order else 0.0
    return (_Y[order](x) - log + pole) / x**order


def _waves(order: int, u: Tensor) -> tuple[Tensor, Tensor]:
    """The slowly varying amplitudes of J and Y, which oscillate with their argument."""
    x = NEAR / torch.sqrt(u)
    angle, root = x - (2 * order + 1) * math.pi / 4, torch.sqrt(math.pi / 2 * x)
    j, y = _J[order](x) * root, _Y[order](x) * root
    even = j * torch.cos(angle) + y * torch.sin(angle)
    return even, (y * torch.cos(angle) - j * torch.sin(angle)) * x


def _fits(function: Callable[[int, Tensor], Tensor], low: float, high: float) -> list[Fit]:
    return [fit(lambda v, n=n: function(n, v), low, high) for n in (0, 1)]  # type: ignore[misc]


_J_NEAR, _Y_NEAR = _fits(_j_near, TINY, NEAR**2), _fits(_y_near, TINY, NEAR**2)
_EVEN, _ODD = (_fits(lambda n, u, i=i: _waves(n, u)[i], 1e-7, 1) for i in (0, 1))  # type: ignore[misc]


def _far(order: int, x: Tensor) -> tuple[Tensor, Tensor]:
    u = (NEAR / x) * (NEAR / x)
    angle, root = x - (2 * order + 1) * math.pi / 4, torch.sqrt(2 / math.pi / x)
    even, odd = _EVEN[order](u), _ODD[order](u) / x
    sin, cos = torch.sin(angle), torch.cos(angle)
    return root * (even * cos - odd * sin), root * (even * sin + odd * cos)


def _j(order: int, x: Tensor) -> Tensor:
    near = _J_NEAR[order](x * x) * (x if order else 1)
    return torch.where(x <= NEAR, near, _far(order, x)[0])


def _y(order: int, x: Tensor) -> Tensor:
    pole = 2 / math.pi / x if order else 0.0
    near = _Y_NEAR[order](x * x) * (x if order else 1) - pole
    near = near + 2 / math.pi * torch.log(x) * _j(order, x)
    made = torch.where(x <= NEAR, near, _far(order, x)[1])
    made = torch.where(x == 0, -math.inf, made)
    return torch.where(x < 0, math.nan, made)


@defines(aten.special_bessel_j0.default)
def j0(x: Tensor) -> Tensor:
    return _j(0, x.abs())


@defines(aten.special_bessel_j1.default)
def j1(x: Tensor) -> Tensor:
    made = _j(1, x.abs())
    return torch.where(x < 0, -made, made)


@defines(aten.special_bessel_y0.default)
def y0(x: Tensor) -> Tensor:
    return _y(0, x)


@defines(aten.special_bessel_y1.default)
def y1(x: Tensor) -> Tensor:
    return _y(1, x)


@defines(aten.special_spherical_bessel_j0.default)
def spherical_j0(x: Tensor) -> Tensor:
    near = torch.ones_like(x)
    for n in (6, 5, 4, 3, 2, 1):
        near = 1 - x * x / (2 * n * (2 * n + 1)) * near
    made = torch.where(x.abs() < 0.5, near, torch.sin(x) / x)
    return torch.where(x.abs() == math.inf, 0.0, made)
