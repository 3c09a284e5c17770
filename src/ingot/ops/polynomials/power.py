"""pow and hypot. f32 pow is exp(y · log|x|) in f64 lanes, rounded once; selects apply the special
cases of C99. pow(x, 0) = pow(1, y) = 1 even for NaN; a negative base requires an integer exponent,
and an odd one keeps its sign. f64 calls Sleef.
"""

from __future__ import annotations

import math

from ingot.ops.polynomials.forms import F32, F64, absolute, integer_type, narrow, widen
from ingot.ops.polynomials.sleef import library
from ingot.ops.polynomials.wide import exp_wide, log_wide
from ingot.ops.registers import RegisterBuilder
from ingot.ops.values import Val


def pow(b: RegisterBuilder, x: Val, y: Val) -> Val:
    x, y = b.same_lanes(x, y)
    if x.dtype is F64:
        return library(b, "pow", x, y)
    zero, one = b.const(0.0, F32), b.const(1.0, F32)
    size = absolute(b, x)
    result = narrow(b, exp_wide(b, b.mul(widen(b, y), log_wide(b, widen(b, size)))))
    result = b.select(b.and_(b.cmp("eq", size, one), b.cmp("eq", y, y)), one, result)
    whole = b.cmp("eq", b.math("trunc", y), y)
    half = b.mul(y, b.const(0.5, F32))
    odd = b.and_(whole, b.cmp("ne", b.math("trunc", half), half))
    negative = b.cmp("lt", b.bitcast(x, integer_type(x)), b.const(0, integer_type(x)))
    result = b.select(b.and_(negative, odd), b.neg(result), result)
    fractional = b.and_(b.cmp("lt", x, zero), b.cmp("ne", b.math("trunc", y), y))
    undefined = b.and_(fractional, b.cmp("gt", x, b.const(-math.inf, F32)))
    result = b.select(undefined, b.const(math.nan, F32), result)
    certain = b.or_(b.cmp("eq", y, zero), b.cmp("eq", x, one))
    return b.select(certain, one, result)


def hypot(b: RegisterBuilder, x: Val, y: Val) -> Val:
    x, y = b.same_lanes(x, y)
    if x.dtype is F64:
        return library(b, "hypot", x, y, suffix="_u05")
    wide, high = widen(b, x), widen(b, y)
    result = narrow(b, b.math("sqrt", b.fma(wide, wide, b.mul(high, high))))
    infinity = b.const(math.inf, F32)
    infinite = b.or_(b.cmp("eq", absolute(b, x), infinity), b.cmp("eq", absolute(b, y), infinity))
    return b.select(infinite, infinity, result)
