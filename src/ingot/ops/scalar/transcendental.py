"""Roots, exponentials, logarithms, trigonometric and hyperbolic functions. Integers are computed in
f32, as in eager; the functions are those of `polynomials`; half-precision results are rounded once,
at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as Kind

from ingot.ops import polynomials
from ingot.ops.registers import RegisterBuilder
from ingot.ops.rules import pointwise
from ingot.ops.values import Val

function = partial(pointwise, kind=Kind.INT_TO_FLOAT)


def _unary(name: str, cost: int, emit: Callable[[RegisterBuilder, Val], Val]) -> None:
    function(f"{name}.default", f"prims::{name}.default", cost=cost)(emit)


_unary("exp", 12, polynomials.exp)
_unary("exp2", 12, polynomials.exp2)
_unary("expm1", 16, polynomials.expm1)
_unary("log", 14, polynomials.log)
_unary("log2", 16, polynomials.log2)
_unary("log10", 16, polynomials.log10)
_unary("log1p", 16, polynomials.log1p)
_unary("sin", 20, polynomials.sin)
_unary("cos", 20, polynomials.cos)
_unary("tan", 50, polynomials.tan)
_unary("asin", 60, polynomials.asin)
_unary("acos", 60, polynomials.acos)
_unary("atan", 50, polynomials.atan)
_unary("sinh", 40, polynomials.sinh)
_unary("cosh", 35, polynomials.cosh)
_unary("tanh", 16, polynomials.tanh)
_unary("asinh", 60, polynomials.asinh)
_unary("acosh", 60, polynomials.acosh)
_unary("atanh", 60, polynomials.atanh)
_unary("erf", 18, polynomials.erf)
_unary("erfc", 60, polynomials.erfc)

function("sigmoid.default", cost=16)(polynomials.sigmoid)
function("atan2.default", "prims::atan2.default", cost=50, halves="rounded")(polynomials.atan2)
pointwise("hypot.default", "prims::hypot.default", cost=16, halves="rounded", integers=False)(
    polynomials.hypot
)


@function("reciprocal.default", "prims::reciprocal.default", cost=4)
def reciprocal(b: RegisterBuilder, x: Val) -> Val:
    return b.div(b.const(1.0, x.dtype), x)


@function("sqrt.default", "prims::sqrt.default", cost=5)
def sqrt(b: RegisterBuilder, x: Val) -> Val:
    return b.math("sqrt", x)


@function("rsqrt.default", "prims::rsqrt.default", cost=9)
def rsqrt(b: RegisterBuilder, x: Val) -> Val:
    return b.div(b.const(1.0, x.dtype), b.math("sqrt", x))


@function("sinc.default", cost=28)
def sinc(b: RegisterBuilder, x: Val) -> Val:
    angle = b.mul(b.const(math.pi, x.dtype), x)
    value = b.div(polynomials.sin(b, angle), angle)
    return b.select(b.cmp("eq", x, b.const(0.0, x.dtype)), b.const(1.0, x.dtype), value)


@function("deg2rad.default")
def deg2rad(b: RegisterBuilder, x: Val) -> Val:
    return b.mul(x, b.const(math.pi / 180, x.dtype))


@function("rad2deg.default")
def rad2deg(b: RegisterBuilder, x: Val) -> Val:
    return b.mul(x, b.const(180 / math.pi, x.dtype))


@function("angle.default", cost=3)
def angle(b: RegisterBuilder, x: Val) -> Val:
    """The angle of a real number: π for a negative one."""
    zero = b.const(0.0, x.dtype)
    value = b.select(b.cmp("lt", x, zero), b.const(math.pi, x.dtype), zero)
    return b.select(b.isnan(x), x, value)
