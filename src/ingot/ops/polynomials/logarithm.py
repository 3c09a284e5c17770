"""log, log2, log10 and log1p. f32 is inlined: the exponent is split off so that the mantissa lies
in 2/3 … 4/3, and a polynomial gives log1p of the rest. log(0) is -inf, log of a negative number
NaN, log(inf) inf; denormal operands are scaled first; the worst errors are in
tests/unit/test_polynomials.py. f64 calls Sleef.
"""

from __future__ import annotations

import math

from ingot.ops.dtypes import rounded
from ingot.ops.polynomials.forms import F32, F64, I32, LN2, LOG2_E, keep_zero_sign, split_horner
from ingot.ops.polynomials.sleef import library
from ingot.ops.registers import RegisterBuilder
from ingot.ops.values import Val

# log1p(f) - f over f², -1/3 <= f <= 1/3.
LOG1P_TAIL = (
    -0.5, 0.333331972, -0.249996200, 0.200120345, -0.166846126,
    0.139814854, -0.121483512, 0.140869141, -0.130310059,
)  # fmt: skip
_TWO_THIRDS = 0x3F2AAAAB
_EXPONENT = -0x800000


def log(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "log", x)
    exponent, f = _split(b, x)
    result = b.fma(exponent, b.const(LN2, F32), b.fma(b.mul(f, f), _log1p_tail(b, f), f))
    return _outside(b, x, result)


def log2(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "log2", x)
    return _outside(b, x, _scaled(b, x, LOG2_E, 1.0))


def log10(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "log10", x)
    return _outside(b, x, _scaled(b, x, 1 / math.log(10), math.log10(2)))


def _scaled(b: RegisterBuilder, x: Val, factor: float, per_exponent: float) -> Val:
    """log(x) · factor, with the product computed in two parts."""
    exponent, f = _split(b, x)
    high = rounded(factor, F32)
    tail = b.mul(b.mul(f, f), _log1p_tail(b, f))
    low = b.fma(f, b.const(factor - high, F32), b.mul(tail, b.const(high, F32)))
    low = b.fma(exponent, b.const(per_exponent - rounded(per_exponent, F32), F32), low)
    result = b.fma(f, b.const(high, F32), low)
    return b.fma(exponent, b.const(rounded(per_exponent, F32), F32), result)


def _log1p_tail(b: RegisterBuilder, f: Val) -> Val:
    return split_horner(b, f, LOG1P_TAIL, plain=3)


def _split(b: RegisterBuilder, x: Val) -> tuple[Val, Val]:
    """(e, m - 1) with x = 2^e · m, 2/3 <= m < 4/3."""
    small = b.cmp("lt", x, b.const(2.0**-126, F32))
    bits = b.bitcast(b.select(small, b.mul(x, b.const(2.0**23, F32)), x), I32)
    field = b.and_(b.sub(bits, b.const(_TWO_THIRDS, I32)), b.const(_EXPONENT, I32))
    m = b.bitcast(b.sub(bits, field), F32)
    offset = b.select(small, b.const(-23.0, F32), b.const(0.0, F32))
    exponent = b.fma(b.cast(field, F32), b.const(2.0**-23, F32), offset)
    return exponent, b.sub(m, b.const(1.0, F32))


def _outside(b: RegisterBuilder, x: Val, result: Val) -> Val:
    """The values at and below 0, at inf and at NaN."""
    infinity, zero = b.const(math.inf, F32), b.const(0.0, F32)
    result = b.select(b.cmp("lt", x, infinity), result, x)
    pole = b.select(b.cmp("lt", x, zero), b.const(math.nan, F32), b.const(-math.inf, F32))
    return b.select(b.cmp("le", x, zero), pole, result)


def log1p(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        # Sleef flushes denormals.
        tiny = b.cmp("lt", b.math("absf", x), b.const(2.0**-60, F64))
        return b.select(tiny, x, library(b, "log1p", x))
    one = b.const(1.0, F32)
    u = b.add(x, one)
    field = b.and_(b.sub(b.bitcast(u, I32), b.const(_TWO_THIRDS, I32)), b.const(_EXPONENT, I32))
    # f = (1 + x) · 2^-e - 1, decomposed into x · 2^-e + (2^-e - 1), so that no bit of x is lost.
    # The power of two is held times four, because 2^-128 is denormal.
    power = b.bitcast(b.sub(b.const(0x40800000, I32), field), F32)
    shifted = b.bitcast(b.sub(b.bitcast(x, I32), field), F32)
    f = b.add(shifted, b.fma(power, b.const(0.25, F32), b.const(-1.0, F32)))
    exponent = b.mul(b.cast(field, F32), b.const(2.0**-23, F32))
    result = b.fma(exponent, b.const(LN2, F32), b.fma(b.mul(f, f), _log1p_tail(b, f), f))
    infinity, minus_one = b.const(math.inf, F32), b.const(-1.0, F32)
    result = b.select(b.cmp("lt", x, infinity), result, x)
    pole = b.select(b.cmp("lt", x, minus_one), b.const(math.nan, F32), b.const(-math.inf, F32))
    return keep_zero_sign(b, b.select(b.cmp("le", x, minus_one), pole, result), x)
