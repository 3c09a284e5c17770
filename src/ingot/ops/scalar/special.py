"""Special functions: logarithms of sums and of odds, entropy, gamma functions and the like. Values
at the poles and outside the domain are those of ATen's kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as Kind
from torch._prims_common import elementwise_dtypes

from ingot.errors import UnsupportedError
from ingot.ops import polynomials
from ingot.ops.dtypes import HALVES
from ingot.ops.registers import RegisterBuilder
from ingot.ops.rules import pointwise
from ingot.ops.scalar.select import maximum
from ingot.ops.values import Val

special = partial(pointwise, kind=Kind.INT_TO_FLOAT)


@special("xlogy.Tensor", "xlogy.Scalar_Other", "xlogy.Scalar_Self", cost=18, halves="exact")
def xlogy(b: RegisterBuilder, x: Val, y: Val) -> Val:
    return _times_or_zero(b, x, y, polynomials.log)


@special(
    "special_xlog1py.default",
    "special_xlog1py.other_scalar",
    "special_xlog1py.self_scalar",
    cost=20,
    halves="exact",
)
def xlog1py(b: RegisterBuilder, x: Val, y: Val) -> Val:
    return _times_or_zero(b, x, y, polynomials.log1p)


def _times_or_zero(
    b: RegisterBuilder, x: Val, y: Val, log: Callable[[RegisterBuilder, Val], Val]
) -> Val:
    """x · log(y), but 0 if x is 0 and NaN if y is. Eager rounds the logarithm to half precision."""
    register = torch.float64 if x.dtype is torch.float64 else torch.float32
    value = b.cast(log(b, b.cast(y, register)), x.dtype)
    product = b.cast(b.mul(b.cast(x, register), b.cast(value, register)), x.dtype)
    product = b.select(b.cmp("eq", x, b.const(0.0, x.dtype)), b.const(0.0, x.dtype), product)
    return b.select(b.isnan(y), b.const(math.nan, x.dtype), product)


@special("logit.default", cost=22, halves="exact")
def logit(b: RegisterBuilder, x: Val, eps: float | None) -> Val:
    """Each step is rounded to half precision, as in ATen."""
    half = x.dtype

    def settled(value: Val) -> Val:
        if half not in HALVES:
            return value
        value = b.round_half(Val(value.name, torch.float32, value.lanes), half)
        return Val(value.name, torch.float32, value.lanes)

    one = settled(b.const(1.0, half))
    x = Val(x.name, one.dtype, x.lanes)
    if eps is not None:
        low = settled(b.const(eps, half))
        high = settled(b.sub(one, low))
        x = b.select(b.cmp("lt", x, low), low, b.select(b.cmp("gt", x, high), high, x))
    return b.cast(polynomials.log(b, settled(b.div(x, settled(b.sub(one, x))))), half)


@pointwise("logaddexp.default", cost=34, integers=False)
def logaddexp(b: RegisterBuilder, x: Val, y: Val) -> Val:
    rest = polynomials.log1p(b, polynomials.exp(b, _minus_distance(b, x, y)))
    return _same_infinity_or(b, x, y, b.add(maximum(b, x, y), rest))


@pointwise("logaddexp2.default", cost=34, integers=False)
def logaddexp2(b: RegisterBuilder, x: Val, y: Val) -> Val:
    rest = polynomials.log1p(b, polynomials.exp2(b, _minus_distance(b, x, y)))
    total = b.fma(rest, b.const(1 / math.log(2), x.dtype), maximum(b, x, y))
    return _same_infinity_or(b, x, y, total)


def _minus_distance(b: RegisterBuilder, x: Val, y: Val) -> Val:
    return b.neg(b.math("absf", b.sub(x, y)))


def _same_infinity_or(b: RegisterBuilder, x: Val, y: Val, value: Val) -> Val:
    infinite = b.cmp("eq", b.math("absf", x), b.const(math.inf, x.dtype))
    return b.select(b.and_(b.cmp("eq", x, y), infinite), x, value)


@special("special_entr.default", cost=18)
def entr(b: RegisterBuilder, x: Val) -> Val:
    zero = b.const(0.0, x.dtype)
    value = b.mul(b.neg(x), polynomials.log(b, x))
    value = b.select(b.cmp("gt", x, zero), value, b.const(-math.inf, x.dtype))
    value = b.select(b.cmp("eq", x, zero), zero, value)
    return b.select(b.isnan(x), x, value)


def _no_f64(arguments: dict[str, Any]) -> tuple[torch.dtype, torch.dtype]:
    compute, result = elementwise_dtypes(*arguments.values(), type_promotion_kind=Kind.INT_TO_FLOAT)
    if compute is torch.float64:
        raise UnsupportedError("in f64 this function needs more digits than are inlined")
    return compute, result


special("lgamma.default", "prims::lgamma.default", cost=50)(polynomials.lgamma)
special("digamma.default", "prims::digamma.default", cost=100)(polynomials.digamma)
special("erfinv.default", "prims::erf_inv.default", cost=60)(polynomials.erfinv)
special("special_ndtri.default", "prims::ndtri.default", cost=80, dtypes=_no_f64)(polynomials.ndtri)
special("special_erfcx.default", "prims::erfcx.default", cost=60, dtypes=_no_f64)(polynomials.erfcx)
special("special_log_ndtr.default", cost=120, dtypes=_no_f64)(polynomials.log_ndtr)


@pointwise("heaviside.default", cost=3, halves="exact")
def heaviside(b: RegisterBuilder, x: Val, values: Val) -> Val:
    zero, one = b.const(0, x.dtype), b.const(1, x.dtype)
    step = b.select(b.cmp("gt", x, zero), one, zero)
    return b.select(b.cmp("eq", x, zero), values, step)
