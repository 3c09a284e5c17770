"""Polynomials in the place of functions that no dialect has a word for. Comes in: a function of
float64 tensors, run here by PyTorch itself, and an interval; goes out: a Fit, which is called with
tensors of any floating-point dtype and is as exact as that dtype.
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
"""How exact the function itself is."""

POINTS = 48
"""Where the function is asked; smooth ones need no more."""


@dataclass(frozen=True)
class Fit:
    low: float
    high: float
    series: tuple[float, ...]
    """Coefficients of Chebyshev's polynomials on the interval."""

    def __call__(self, x: Tensor) -> Tensor:
        """Holds inside the interval; outside of it the value means nothing."""
        middle, half = (self.high + self.low) / 2, (self.high - self.low) / 2
        place = ((x - middle) / half).clamp(-1, 1)
        powers = _powers(self.series, torch.finfo(x.dtype).eps)
        value = torch.full_like(x, powers[-1])
        for power in reversed(powers[:-1]):
            value = value * place + power
        return value


@cache
def _powers(series: tuple[float, ...], eps: float) -> tuple[float, ...]:
    """As coefficients of powers, without those at the end that are too small to tell."""
    numbers = np.array(series)
    sizes = np.abs(numbers) / np.abs(numbers).max()
    count = np.flatnonzero(sizes > max(eps / 16, NOISE)).max() + 1
    return tuple(float(n) for n in chebyshev.cheb2poly(numbers[:count]))


def fit(function: Callable[[Tensor], Tensor], low: float, high: float) -> Fit:
    def values(places: Any) -> Any:
        with _disable_current_modes():  # whoever is the first to import this may be tracing
            x = torch.from_numpy((places * (high - low) + (high + low)) / 2)
            return function(x).numpy()

    return Fit(low, high, tuple(chebyshev.chebinterpolate(values, POINTS)))
