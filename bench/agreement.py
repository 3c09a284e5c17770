"""How far results are from eager's."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves

TOLERANCE = 1e-4
"""The largest error allowed, as a share of the largest number in eager's result: float32 sums in
another order stay well inside."""


def furthest(actual: Any, expected: Any) -> float:
    """The largest error among the results, each against the largest number eager has in it."""
    errors = []
    for got, want in zip(tree_leaves(actual), tree_leaves(expected), strict=True):
        got = torch.as_tensor(got)
        if got.shape != want.shape:
            return float("inf")
        scale = want.abs().max().item() or 1.0
        errors.append((got - want).abs().max() / scale)
    return torch.stack(errors).max().item()  # NaN if any of them is
