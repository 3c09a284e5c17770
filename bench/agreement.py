"""Errors of results relative to eager's."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves

TOLERANCE = 1e-4
"""The largest error allowed, relative to the largest value in eager's result: float32 sums in
another order stay well inside."""


def furthest(actual: Any, expected: Any) -> float:
    """The largest error among the results, each relative to the largest value in eager's."""
    errors = []
    for got, want in zip(tree_leaves(actual), tree_leaves(expected), strict=True):
        got = torch.as_tensor(got)
        if got.shape != want.shape:
            return float("inf")
        scale = want.abs().max().item() or 1.0
        errors.append((got - want).abs().max() / scale)
    return torch.stack(errors).max().item()  # NaN if any of them is
