"""PyTorch's prims that correspond to an ATen op with the same operands. Prims do not promote: their
operands have one dtype already. `prims.div` truncates integers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from ingot.ops.dtypes import is_float
from ingot.ops.registers import RegisterBuilder
from ingot.ops.rules import overload, pointwise, pointwise_rules
from ingot.ops.scalar import arithmetic, division
from ingot.ops.values import Val

SAME = {
    "abs": "abs.default", "eq": "eq.Tensor", "fmax": "fmax.default", "fmin": "fmin.default",
    "fmod": "fmod.Tensor", "ge": "ge.Tensor", "gt": "gt.Tensor", "isfinite": "isfinite.default",
    "le": "le.Tensor", "lt": "lt.Tensor", "maximum": "maximum.default",
    "minimum": "minimum.default", "mul": "mul.Tensor", "ne": "ne.Tensor", "neg": "neg.default",
    "remainder": "remainder.Tensor", "sign": "sign.default", "signbit": "signbit.default",
    "clone": "clone.default",
}  # fmt: skip


def _same(name: str, aten: str) -> None:
    rule = pointwise_rules[overload(aten)]
    pointwise(
        f"prims::{name}.default", kind=rule.kind, cost=rule.cost, halves=rule.halves,
        checks=rule.checks, dtypes=rule.dtypes,
    )(rule.emit)  # fmt: skip


for _name, _aten in SAME.items():
    _same(_name, _aten)


def _without_alpha(name: str, emit: Callable[..., Val]) -> None:
    @pointwise(f"prims::{name}.default")
    def plain(b: RegisterBuilder, x: Val, y: Val) -> Val:
        return emit(b, x, y, 1)


_without_alpha("add", arithmetic.add)
_without_alpha("sub", arithmetic.sub)


@pointwise("prims::div.default", cost=4, checks="ZeroDivisionError")
def div(b: RegisterBuilder, x: Val, y: Val) -> Val:
    return b.div(x, y) if is_float(x.dtype) else division.truncating_quotient(b, x, y)


@pointwise("prims::where.default", unpromoted=("pred",), halves="exact")
def where(b: RegisterBuilder, condition: Val, x: Val, y: Val) -> Val:
    return b.select(condition, x, y)


def register_late() -> None:
    """Dynamo rewrites addcmul_ and addcdiv_ with `prims.fma`, which exists once Inductor's prims
    have been imported. Its CPU kernel rounds the product."""
    if (
        "torch._inductor.inductor_prims" not in sys.modules
        or overload("prims::fma.default") in pointwise_rules
    ):
        return

    @pointwise("prims::fma.default", cost=2)
    def fma(b: RegisterBuilder, x: Val, y: Val, z: Val) -> Val:
        return b.add(b.mul(x, y), z)
