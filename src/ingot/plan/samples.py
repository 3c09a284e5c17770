"""The sampled weight guard: compares a few bytes of each weight instead of all of them."""

from __future__ import annotations

import math

import torch

PLACES, RUN = 8, 16
"""Number of samples in a weight, and bytes of each. A sample costs a cache miss, its further bytes
nothing."""
SPREAD = (math.sqrt(5) - 1) / 2
"""The fractional parts of its multiples are spread evenly between 0 and 1."""


def sampled_ranges(weight: torch.Tensor) -> list[tuple[int, int]]:
    """(address, size) of the samples; the whole weight if it is small."""
    if weight.numel() == 0:
        return []
    last = sum((n - 1) * step for n, step in zip(weight.shape, weight.stride(), strict=True))
    start, size = weight.data_ptr(), (last + 1) * weight.itemsize
    if size <= PLACES * RUN:
        return [(start, size)]
    return [(start + int((size - RUN) * (k * SPREAD % 1)), RUN) for k in range(PLACES)]
