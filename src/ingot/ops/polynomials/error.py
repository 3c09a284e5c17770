"""erf and its complements, inlined in f32: an odd polynomial below 0.93, 1 - exp(p(|x|)) above,
where p approximates log(erfc). erf(±inf) = ±1; NaN and the sign of zero are preserved; the worst
errors are in tests/unit/test_polynomials.py. f64 calls Sleef.
"""

from __future__ import annotations

import math

from ingot.errors import UnsupportedError
from ingot.ops.polynomials.exponential import exp2_of_product, exp_in_range
from ingot.ops.polynomials.forms import (
    F64,
    absolute,
    at_least,
    at_most,
    horner,
    narrow,
    split_horner,
    widen,
    with_sign_of,
)
from ingot.ops.polynomials.sleef import library
from ingot.ops.polynomials.wide import exp_wide, log_wide
from ingot.ops.registers import RegisterBuilder
from ingot.ops.values import Val

# Where the two forms meet.
_SEAM = 0.927734375
# erf(x) / x - 1 in powers of x², |x| <= 0.9277.
_ERF_SMALL = (
    1.28379166e-1, -3.76125336e-1, 1.12819925e-1, -2.67681349e-2, 4.99119423e-3, -5.96761703e-4,
)  # fmt: skip
# log(erfc(t)) + t over t, 0.9277 <= t <= 4; 1 - erfc is then accurate to an ulp.
_ERFC_LOG = (
    -1.28717512e-1, -6.34846687e-1, -1.06777877e-1, 2.42546219e-2, -3.88396438e-3, 3.83197126e-4,
    -1.72853470e-5,
)  # fmt: skip
# log2(erfc(x / sqrt(2))) over x, 0 <= x <= 5; minimax, 2^-23.8. Beyond, it decreases too fast.
_CDF_LOG2 = (
    -1.151106834411621, -0.4591972529888153, -0.05251104384660721, 0.007044198457151651,
    -7.36385554773733e-05, -0.00024739833315834403, 6.81107267155312e-05, -9.723782568471506e-06,
    7.616932862219983e-07, -2.5829104188801466e-08,
)  # fmt: skip
# Where half of the approximation is less than 2^-150, which is 0 in f32.
_CDF_END = 11.5525
# exp(x²) erfc(x) (1 + 2x) in powers of (x - 4) / (x + 4), x >= 0; minimax, 2^-37.
_ERFCX = (
    1.232995118625438, -0.13962111671711955, 0.015379652106513543, 0.06809704827862496,
    -0.10103906586845285, 0.09373291950027378, -0.0663303694573555, 0.037166977218543465,
    -0.016197708104915665, 0.005033799929558799, -0.000757865498021372, -0.00020282566310838812,
    0.00015080867921210209, -2.0343716291809867e-05, -1.1450405553737093e-05, 3.124723527928231e-06,
    4.634712693657074e-07,
)  # fmt: skip


def erf(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "erf", x)
    size = absolute(b, x)
    t = at_most(b, size, 4.0)
    complement = exp_in_range(b, b.fma(split_horner(b, t, _ERFC_LOG), t, b.neg(t)))
    large = with_sign_of(b, b.sub(b.const(1.0, x.dtype), complement), x)
    small = b.fma(horner(b, b.mul(x, x), _ERF_SMALL), x, x)
    return b.select(b.cmp("gt", size, b.const(_SEAM, x.dtype)), large, small)


def normal_cdf(b: RegisterBuilder, x: Val) -> Val:
    """(1 + erf(x / sqrt(2))) / 2. In f32 it is 2^p(|x|) left of 0 and one minus that right of it:
    nothing cancels, and it takes one polynomial where erf takes two."""
    one, zero = b.const(1.0, x.dtype), b.const(0.0, x.dtype)
    if x.dtype is F64:
        scaled = b.mul(x, b.const(-math.sqrt(0.5), F64))
        return b.mul(b.const(0.5, F64), library(b, "erfc", scaled, suffix="_u15"))
    tail = _normal_tail(b, absolute(b, x))
    return b.select(b.cmp("lt", x, zero), tail, b.sub(one, tail))


def times_normal_cdf(b: RegisterBuilder, x: Val) -> Val:
    """x · normal_cdf(x): max(x, 0) minus |x| times the tail. Far left it is -0.0, like x · 0."""
    if x.dtype is F64:
        return b.mul(x, normal_cdf(b, x))
    size = absolute(b, at_most(b, x, _CDF_END))
    return b.fma(b.neg(size), _normal_tail(b, size), at_least(b, x, -0.0))


def _normal_tail(b: RegisterBuilder, size: Val) -> Val:
    """The normal CDF at -size, in f32."""
    t = at_most(b, size, _CDF_END)
    return exp2_of_product(b, split_horner(b, t, _CDF_LOG2), t, halvings=1)


def erfc(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "erfc", x, suffix="_u15")
    return narrow(b, _erfc_wide(b, widen(b, x)))


def _erfc_wide(b: RegisterBuilder, x: Val) -> Val:
    size = at_most(b, absolute(b, x), 10.3)
    tail = b.mul(exp_wide(b, b.neg(b.mul(size, size))), _erfcx_wide(b, size))
    negative = b.cmp("lt", x, b.const(0.0, F64))
    return b.select(negative, b.sub(b.const(2.0, F64), tail), tail)


def _erfcx_wide(b: RegisterBuilder, x: Val) -> Val:
    """exp(x²) erfc(x) for x >= 0."""
    four, one = b.const(4.0, F64), b.const(1.0, F64)
    bounded = at_most(b, x, 1e100)
    below, right = b.add(bounded, four), b.fma(bounded, b.const(2.0, F64), one)
    # One division for two quotients.
    inverse = b.div(one, b.mul(below, right))
    t = b.mul(b.mul(b.sub(bounded, four), right), inverse)
    return b.mul(b.mul(horner(b, t, _ERFCX), below), inverse)


def erfcx(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        raise UnsupportedError("erfcx in f64 needs more digits than are inlined")
    wide = widen(b, x)
    size = absolute(b, wide)
    right = _erfcx_wide(b, size)
    gauss = exp_wide(b, b.mul(size, size))
    left = b.fma(b.const(2.0, F64), gauss, b.neg(right))
    return narrow(b, b.select(b.cmp("lt", wide, b.const(0.0, F64)), left, right))


def log_ndtr(b: RegisterBuilder, x: Val) -> Val:
    """The logarithm of the normal CDF: through erfcx where the CDF is small, through erfc where it
    is near 1."""
    if x.dtype is F64:
        raise UnsupportedError("log_ndtr in f64 needs more digits than are inlined")
    wide, half = widen(b, x), b.const(0.5, F64)
    t = b.mul(wide, b.const(math.sqrt(0.5), F64))
    left = b.sub(log_wide(b, b.mul(half, _erfcx_wide(b, absolute(b, t)))), b.mul(t, t))
    rest = b.mul(half, _erfc_wide(b, t))
    right = log_wide(b, b.sub(b.const(1.0, F64), rest))
    # log(1 - q) for small q is -q - q²/2.
    series = b.neg(b.fma(b.mul(half, rest), rest, rest))
    right = b.select(b.cmp("lt", rest, b.const(2.0**-16, F64)), series, right)
    return narrow(b, b.select(b.cmp("lt", wide, b.const(-1.0, F64)), left, right))
