"""The sampled weight guard: a few bytes of each weight in place of all of them."""

from __future__ import annotations

import math

import torch

PLACES, RUN = 8, 16
"""So many bytes at so many places of a weight. A place costs a cache miss, the bytes after it
nothing."""
SPREAD = (math.sqrt(5) - 1) / 2
"""Its multiples, without their whole parts, are spread evenly between 0 and 1."""


def sampled_ranges(weight: torch.Tensor) -> list[tuple[int, int]]:
    """(address, size) of the samples; all of the weight where it is small."""
    if weight.numel() == 0:
        return []
    last = sum((n - 1) * step for n, step in zip(weight.shape, weight.stride(), strict=True))
    start, size = weight.data_ptr(), (last + 1) * weight.itemsize
    if size <= PLACES * RUN:
        return [(start, size)]
    return [(start + int((size - RUN) * (k * SPREAD % 1)), RUN) for k in range(PLACES)]
