"""Errors of results relative to eager's."""

from __future__ import annotations

from typing import Any

import torch

from ingot.bench.workload import leaves_of

TOLERANCE = 1e-4
"""The largest error allowed, relative to the largest value in eager's result: float32 sums in
another order stay well inside."""
NARROW = {torch.float16: 1e-2, torch.bfloat16: 4e-2}
"""The same for dtypes that round more coarsely."""


def furthest(actual: Any, expected: Any) -> float:
    """The largest error among the results, each relative to the largest value in eager's; NaN if
    one is not a number where eager's is, infinity if other dtypes than floats are not equal."""
    got, want = leaves_of(actual), leaves_of(expected)
    if len(got) != len(want):
        return float("inf")
    errors = [_error(torch.as_tensor(g), torch.as_tensor(w)) for g, w in zip(got, want)]
    return float(torch.tensor(errors).max()) if errors else 0.0  # NaN if any of them is


def _error(got: torch.Tensor, want: torch.Tensor) -> float:
    if got.shape != want.shape:
        return float("inf")
    if not (want.is_floating_point() or want.is_complex()):
        return 0.0 if torch.equal(got.to(want.dtype), want) else float("inf")
    finite = want.isfinite()
    same = (got == want) | (got.isnan() & want.isnan())
    if not same[~finite].all():
        return float("inf")
    want, got = want[finite].detach(), got[finite].detach()
    if not want.numel():
        return 0.0
    scale = want.abs().max().item() or 1.0
    return ((got - want).abs().max() / scale).item()


def tolerance_of(expected: Any) -> float:
    """The tolerance of the narrowest dtype among eager's results."""
    dtypes = {leaf.dtype for leaf in leaves_of(expected) if isinstance(leaf, torch.Tensor)}
    return max((NARROW.get(dtype, TOLERANCE) for dtype in dtypes), default=TOLERANCE)
