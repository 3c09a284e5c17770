"""Ops with a bool result: comparisons, logic, isnan and the like. Operands are compared in the
dtype they promote to, half-precision types with their own rounding; NaN is unordered, so only `ne`
is true for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as Kind

from ingot.ops.dtypes import is_float
from ingot.ops.registers import RegisterBuilder
from ingot.ops.rules import pointwise
from ingot.ops.values import Val

question = partial(pointwise, kind=Kind.ALWAYS_BOOL, halves="exact")


def _comparison(predicate: str) -> None:
    @question(f"{predicate}.Tensor", f"{predicate}.Scalar")
    def compare(b: RegisterBuilder, x: Val, y: Val) -> Val:
        return b.cmp(predicate, x, y)


for _predicate in ("eq", "ne", "lt", "le", "gt", "ge"):
    _comparison(_predicate)


def _logic(name: str, combine: Callable[[RegisterBuilder, Val, Val], Val]) -> None:
    # Each operand becomes a bool by itself: 0.5 must not first be promoted to an integer with 1.
    @question(f"{name}.default", unpromoted=("self", "other"), dtypes=_bools)
    def logic(b: RegisterBuilder, x: Val, y: Val) -> Val:
        return combine(b, b.cast(x, torch.bool), b.cast(y, torch.bool))


def _bools(_: object) -> tuple[torch.dtype, torch.dtype]:
    return torch.bool, torch.bool


_logic("logical_and", RegisterBuilder.and_)
_logic("logical_or", RegisterBuilder.or_)
_logic("logical_xor", RegisterBuilder.xor)


@question("logical_not.default")
def logical_not(b: RegisterBuilder, x: Val) -> Val:
    return b.cmp("eq", x, b.const(0, x.dtype))


@question("isnan.default")
def isnan(b: RegisterBuilder, x: Val) -> Val:
    return b.isnan(x) if is_float(x.dtype) else b.const(0, torch.bool, x.lanes)


@question("isinf.default", cost=2)
def isinf(b: RegisterBuilder, x: Val) -> Val:
    if not is_float(x.dtype):
        return b.const(0, torch.bool, x.lanes)
    return b.cmp("eq", b.math("absf", x), b.const(math.inf, x.dtype))


@question("isfinite.default", cost=2)
def isfinite(b: RegisterBuilder, x: Val) -> Val:
    if not is_float(x.dtype):
        return b.const(1, torch.bool, x.lanes)
    return b.cmp("lt", b.math("absf", x), b.const(math.inf, x.dtype))


@question("isposinf.default")
def isposinf(b: RegisterBuilder, x: Val) -> Val:
    if not is_float(x.dtype):
        return b.const(0, torch.bool, x.lanes)
    return b.cmp("eq", x, b.const(math.inf, x.dtype))


@question("isneginf.default")
def isneginf(b: RegisterBuilder, x: Val) -> Val:
    if not is_float(x.dtype):
        return b.const(0, torch.bool, x.lanes)
    return b.cmp("eq", x, b.const(-math.inf, x.dtype))
