"""The difference of one result from eager's, and whether it is rounding. Imports no MLIR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

TOLERANCES = {
    torch.float64: 1e-9,
    torch.float32: 1e-4,
    torch.float16: 1e-2,
    torch.bfloat16: 4e-2,
    torch.complex64: 1e-4,
    torch.complex128: 1e-9,
}
"""Relative to the largest element of a tensor; other dtypes have to be equal."""


@dataclass(frozen=True)
class Difference:
    """One result compared with eager's."""

    name: str
    largest: float
    """The largest difference."""
    scale: float
    """The largest element of eager's result."""
    why: str = ""
    """Why the results disagree; empty if they agree."""

    def as_text(self) -> str:
        far = f"largest difference {self.largest:.3g} of {self.scale:.3g}"
        return f"{self.name}: {self.why or 'equal'} ({far})"


def compare(name: str, got: Any, want: Any, tolerance: float) -> Difference:
    if not isinstance(want, torch.Tensor):
        return Difference(name, abs(got - want), abs(want), "" if got == want else "a wrong value")
    if got.shape != want.shape or got.dtype != want.dtype:
        why = f"{got.dtype}{list(got.shape)}, eager's is {want.dtype}{list(want.shape)}"
        return Difference(name, 0.0, 0.0, why)
    if not want.numel():
        return Difference(name, 0.0, 0.0)
    if want.dtype not in TOLERANCES:
        same = torch.equal(as_bytes(got), as_bytes(want))
        return Difference(name, 0.0, 0.0, "" if same else "wrong values")
    return _compare_numbers(name, got, want, max(tolerance, TOLERANCES[want.dtype]))


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


def _compare_numbers(
    name: str, got: torch.Tensor, want: torch.Tensor, tolerance: float
) -> Difference:
    wide = torch.complex128 if want.dtype.is_complex else torch.float64
    got, want = got.to(wide), want.to(wide)
    finite = want.isfinite()
    if not torch.equal(got.isfinite(), finite) or not torch.equal(got.isnan(), want.isnan()):
        return Difference(name, float("inf"), 0.0, "wrong infinities or NaNs")
    largest = (got - want)[finite].abs().max().item() if finite.any() else 0.0
    scale = want[finite].abs().max().item() if finite.any() else 0.0
    why = "" if largest <= tolerance * max(scale, 1e-3) else "beyond the tolerance"
    return Difference(name, largest, scale, why)
