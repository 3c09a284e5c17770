"""Polynomial approximations of functions that no dialect has an op for. A function of float64
tensors, evaluated by PyTorch itself, is fitted on an interval. The Fit is called with tensors of
any floating-point dtype and is as accurate as that dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.polynomial import chebyshev
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

NOISE = 1e-15
"""The accuracy of the fitted function itself."""

POINTS = 48
"""Points at which the function is evaluated; smooth functions need no more."""


@dataclass(frozen=True)
class Fit:
    low: float
    high: float
    series: tuple[float, ...]
    """Coefficients of Chebyshev polynomials on the interval."""

    def __call__(self, x: Tensor) -> Tensor:
        """Valid inside the interval only."""
        middle, half = (self.high + self.low) / 2, (self.high - self.low) / 2
        place = ((x - middle) / half).clamp(-1, 1)
        powers = _powers(self.series, torch.finfo(x.dtype).eps)
        value = torch.full_like(x, powers[-1])
        for power in reversed(powers[:-1]):
            value = value * place + power
        return value


@cache
def _powers(series: tuple[float, ...], eps: float) -> tuple[float, ...]:
    """The coefficients of powers, without trailing terms below the dtype's accuracy."""
    numbers = np.array(series)
    sizes = np.abs(numbers) / np.abs(numbers).max()
    count = np.flatnonzero(sizes > max(eps / 16, NOISE)).max() + 1
    return tuple(float(n) for n in chebyshev.cheb2poly(numbers[:count]))


def fit(function: Callable[[Tensor], Tensor], low: float, high: float) -> Fit:
    def values(places: Any) -> Any:
        with _disable_current_modes():  # the first import may happen during tracing
            x = torch.from_numpy((places * (high - low) + (high + low)) / 2)
            return function(x).numpy()

    return Fit(low, high, tuple(chebyshev.chebinterpolate(values, POINTS)))
