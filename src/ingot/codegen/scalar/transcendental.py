"""Roots, exponentials, logarithms and the error function. What holds: integers are computed in f32 as eager does, the
functions are those of `polynomials`, and a half is rounded once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as Kind

from ingot.codegen import polynomials
from ingot.codegen.builder import Builder, Val
from ingot.codegen.rules import pointwise

function = partial(pointwise, kind=Kind.INT_TO_FLOAT)


def _unary(name: str, cost: int, emit: Callable[[Builder, Val], Val]) -> None:
    function(f"{name}.default", cost=cost)(emit)


_unary("exp", 12, polynomials.exp)
_unary("exp2", 12, polynomials.exp2)
_unary("expm1", 16, polynomials.expm1)
_unary("log", 14, polynomials.log)
_unary("log2", 16, polynomials.log2)
_unary("log10", 16, polynomials.log10)
_unary("log1p", 16, polynomials.log1p)
_unary("tanh", 16, polynomials.tanh)
_unary("sigmoid", 16, polynomials.sigmoid)
_unary("erf", 18, polynomials.erf)


@function("reciprocal.default", cost=4)
def reciprocal(b: Builder, x: Val) -> Val:
    return b.div(b.const(1.0, x.dtype), x)


@function("sqrt.default", cost=5)
def sqrt(b: Builder, x: Val) -> Val:
    return b.math("sqrt", x)


@function("rsqrt.default", cost=9)
def rsqrt(b: Builder, x: Val) -> Val:
    return b.div(b.const(1.0, x.dtype), b.math("sqrt", x))
