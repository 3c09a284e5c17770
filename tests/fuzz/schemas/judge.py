"""Classifies the differences between eager's outcome and another.

Integers and booleans must be equal. Floats must be within a few ulps of eager, or within eager's
own sensitivity (see `Evidence`), or no farther from the f64 truth than eager.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .evidence import Evidence
from .outcome import Outcome, Snapshot

RELATIVE = {
    torch.float64: 1e-10, torch.complex128: 1e-10, torch.float32: 8e-6, torch.complex64: 8e-6,
    torch.float16: 3e-3, torch.bfloat16: 2.4e-2, torch.complex32: 3e-3,
}  # fmt: skip
SPREAD = 16.0
WORSE_THAN_EAGER = 4.0


@dataclass(frozen=True)
class Difference:
    kind: str
    """raises, runs, dtype, shape, strides, bits, integer, value, nonfinite, number, alias, rng."""
    where: str
    text: str

    @property
    def label(self) -> str:
        place = self.where.split(" ")[0]
        return f"{self.kind} ({place})" if place != "result" else self.kind


def compare(got: Outcome, want: Outcome, evidence: Evidence) -> list[Difference]:
    """Every difference of an outcome from eager's."""
    if got.error and not want.error:
        return [Difference("raises", "call", f"{got.error}\n{got.trace}")]
    if want.error:
        runs = Difference("runs", "call", f"eager raises {want.error}")
        return [] if got.error else [runs]
    found: list[Difference] = []
    for part in ("results", "inputs", "grads"):
        mine, other = getattr(got, part), getattr(want, part)
        if len(mine) != len(other):
            text = f"{len(mine)} where eager has {len(other)}"
            found.append(Difference("count", part, text))
            continue
        for index, (actual, expected) in enumerate(zip(mine, other)):
            place = f"{part.removesuffix('s')} {index}"
            found += compare_value(actual, expected, place, (part, index), evidence)
    if got.aliases != want.aliases:
        text = f"{got.aliases} where eager has {want.aliases}"
        found.append(Difference("alias", "result", text))
    assert got.rng is not None and want.rng is not None
    if not torch.equal(got.rng, want.rng):
        found.append(Difference("rng", "generator", "the generator's state differs"))
    return found


def compare_value(
    actual: Any, expected: Any, place: str, path: tuple[str, int], evidence: Evidence
) -> list[Difference]:
    if not isinstance(expected, Snapshot) or not isinstance(actual, Snapshot):
        return compare_numbers(actual, expected, place, path, evidence)
    got, want = actual.value, expected.value
    for kind, mine, other in (
        ("dtype", got.dtype, want.dtype),
        ("shape", tuple(got.shape), tuple(want.shape)),
        ("layout", got.layout, want.layout),
    ):
        if mine != other:
            return [Difference(kind, place, f"{mine} where eager has {other}")]
    found = []
    if path[0] != "grads" and observable(actual) != observable(expected):
        text = f"{actual.strides} where eager has {expected.strides} (shape {tuple(want.shape)})"
        found.append(Difference("strides", place, text))
    if actual.bits != expected.bits:
        text = f"{actual.bits} where eager has {expected.bits} (conj, neg, requires_grad)"
        found.append(Difference("bits", place, text))
    kind = differing(got, want, path, evidence)
    if kind:
        found.append(Difference(kind, place, f"got\n{got}\neager\n{want}"))
    return found


def observable(snapshot: Snapshot) -> tuple[int, ...]:
    """Strides of dimensions longer than one."""
    if snapshot.value.numel() == 0:
        return ()
    sizes = snapshot.value.shape
    return tuple(stride for stride, size in zip(snapshot.strides, sizes) if size > 1)


def compare_numbers(
    actual: Any, expected: Any, place: str, path: tuple[str, int], evidence: Evidence
) -> list[Difference]:
    text = f"{actual!r} where eager has {expected!r}"
    if type(actual) is not type(expected):
        return [Difference("number", place, f"{text}: {type(actual)}, {type(expected)}")]
    if actual == expected or (actual != actual and expected != expected):
        return []
    if isinstance(actual, float) and math.isclose(actual, expected, rel_tol=1e-5):
        return []
    others = [at(each, path) for each in (*evidence.shaken, *evidence.shaken_inputs)]
    if isinstance(actual, float | complex) and any(each != expected for each in others):
        return []
    if any(each == actual for each in others):
        return []
    return [Difference("number", place, text)]


def at(outcome: Outcome, path: tuple[str, int]) -> Any:
    part = getattr(outcome, path[0])
    return part[path[1]] if path[1] < len(part) else None


def real(tensor: Tensor) -> Tensor:
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.to(torch.complex128))
    return tensor.double()


def differing(got: Tensor, want: Tensor, path: tuple[str, int], evidence: Evidence) -> str:
    """The class of the difference between two tensors of one dtype and shape; empty if none."""
    if not (want.is_floating_point() or want.is_complex()):
        wrong = got != want
        for shaken in evidence.shaken if bool(wrong.any()) else []:
            wrong &= ~_unlike(shaken, path, want)
        return "integer" if bool(wrong.any()) else ""
    if want.dtype not in RELATIVE:
        return "" if torch.equal(got.view(torch.uint8), want.view(torch.uint8)) else "value"
    mine, other = real(got), real(want)
    wrong = ~near(mine, other, RELATIVE[want.dtype] * other.abs() + least(want.dtype))
    if not bool(wrong.any()):
        return ""
    wrong = unexplained(mine, other, wrong, want, path, evidence)
    if not bool(wrong.any()):
        return ""
    odd = wrong & ~(mine.isfinite() & other.isfinite())
    return "nonfinite" if bool(odd.any()) else "value"


def least(dtype: torch.dtype) -> float:
    """Denormal results may be flushed."""
    return torch.finfo(dtype).tiny


def near(mine: Tensor, other: Tensor, allowed: Tensor) -> Tensor:
    same = (mine == other) | (mine.isnan() & other.isnan())
    return same | (mine.isfinite() & other.isfinite() & ((mine - other).abs() <= allowed))


def _unlike(outcome: Outcome, path: tuple[str, int], want: Tensor) -> Tensor:
    """Elements at which another run of eager differs from the first."""
    snapshot = at(outcome, path)
    if not isinstance(snapshot, Snapshot) or snapshot.value.shape != want.shape:
        return torch.ones(want.shape, dtype=torch.bool)
    return snapshot.value != want


def unexplained(
    mine: Tensor,
    other: Tensor,
    wrong: Tensor,
    want: Tensor,
    path: tuple[str, int],
    evidence: Evidence,
) -> Tensor:
    """The elements explained neither by eager's sensitivity nor by the f64 truth."""
    spread = torch.zeros_like(other)
    for outcome in (*evidence.shaken, *evidence.shaken_inputs):
        snapshot = at(outcome, path)
        if not isinstance(snapshot, Snapshot) or snapshot.value.shape != want.shape:
            return torch.zeros_like(wrong)  # one ulp decides the shape, or whether it runs
        moved = real(snapshot.value)
        wrong = wrong & ~((moved.isfinite() != other.isfinite()) | (moved.isnan() != other.isnan()))
        spread = torch.maximum(spread, (moved - other).abs().nan_to_num(0.0, 0.0, 0.0))
    allowed = RELATIVE[want.dtype] * other.abs() + SPREAD * spread + least(want.dtype)
    wrong = wrong & ~near(mine, other, allowed)
    truth = None if evidence.random else at(evidence.truth, path)
    if not isinstance(truth, Snapshot) or truth.value.shape != want.shape:
        return wrong
    true = real(truth.value)
    if true.shape != other.shape:
        return wrong
    return wrong & ~closer(mine, other, true, want.dtype)


def closer(mine: Tensor, other: Tensor, true: Tensor, dtype: torch.dtype) -> Tensor:
    """Within tolerance of the truth, or about as close to it as eager. At the edge of the type's
    range, huge finite values count as infinite."""
    largest = torch.finfo(dtype).max
    tolerance = RELATIVE[dtype] * true.abs() + least(dtype)
    own = WORSE_THAN_EAGER * (other - true).abs()
    plausible = (other - true).abs() <= 1e-2 * true.abs()
    good = near(mine, true, torch.where(plausible, own + tolerance, tolerance))
    edge = (true.abs() >= 0.99 * largest) & (mine.isinf() | (mine.abs() >= 0.99 * largest))
    return good | (edge & (mine.sign() == true.sign()))
