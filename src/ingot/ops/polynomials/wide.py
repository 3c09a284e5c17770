"""exp, log and related functions in f64 lanes, for f32 functions that are rare enough to be
computed in f64 and rounded once. Relative errors are below 2^-45, so that results are off by hardly
more than half an ulp of f32; f32 denormals are normal here.
"""

from __future__ import annotations

import math

import torch

from ingot.ops.polynomials.forms import (
    F64,
    LN2,
    LOG2_E,
    absolute,
    at_least,
    at_most,
    horner,
    nearest_integer,
    power_of_two,
)
from ingot.ops.registers import RegisterBuilder
from ingot.ops.values import Val

I64 = torch.int64
# exp(r) - 1 - r over r², |r| <= ln 2 / 2; minimax, 2^-45.
_EXP_TAIL = (
    0.499999999996643, 0.16666666668485092, 0.04166666697038974, 0.008333332543564496,
    0.001388880914751218, 0.00019842285197338265, 2.4881949767385704e-05, 2.718098030161243e-06,
)  # fmt: skip
# atanh(s) / s - 1 over s², |s| <= 1/5; minimax, 2^-49.
_ATANH_TAIL = (
    0.3333333333307482, 0.20000000125117043, 0.14285694150294606,
    0.11112597256186588, 0.09035728315901999, 0.086876406071686,
)  # fmt: skip
# atan(z) / z - 1 over z², |z| <= 1; minimax, 2^-36.5.
_ATAN_TAIL = (
    -0.33333333111139385, 0.19999984223042494, -0.14285320905658633, 0.11106143609368241,
    -0.09053630554221914, 0.07510514607742434, -0.060569638402981, 0.04417921824668518,
    -0.02654789552211913, 0.011778718010867849, -0.0033265154200334355, 0.00044069780152907015,
)  # fmt: skip
_TWO_THIRDS = 0x3FE5555555555555
_EXPONENT = -(1 << 52)


def exp_wide(b: RegisterBuilder, x: Val) -> Val:
    """exp, with 0 or inf (as f32 sees it) for large |x|; NaN stays."""
    x = at_most(b, at_least(b, x, -200.0), 200.0)
    n, integer = nearest_integer(b, x, LOG2_E)
    r = b.fma(n, b.const(-LN2, F64), x)
    p = b.fma(b.mul(r, r), horner(b, r, _EXP_TAIL), r)
    power = power_of_two(b, integer)
    return b.fma(power, p, power)


def log_wide(b: RegisterBuilder, x: Val) -> Val:
    """log of x >= 0; -inf at 0, inf at inf; NaN stays."""
    bits = b.bitcast(x, I64)
    shifted = b.sub(bits, b.const(_TWO_THIRDS, I64))
    m = b.bitcast(b.sub(bits, b.and_(shifted, b.const(_EXPONENT, I64))), F64)
    f = b.sub(m, b.const(1.0, F64))
    s = b.div(f, b.add(f, b.const(2.0, F64)))
    square = b.mul(s, s)
    double = b.add(s, s)
    log_m = b.fma(b.mul(square, horner(b, square, _ATANH_TAIL)), double, double)
    result = b.fma(_exponent(b, shifted), b.const(LN2, F64), log_m)
    zero, infinity = b.const(0.0, F64), b.const(math.inf, F64)
    result = b.select(b.cmp("lt", x, infinity), result, x)
    return b.select(b.cmp("eq", x, zero), b.const(-math.inf, F64), result)


def _exponent(b: RegisterBuilder, shifted: Val) -> Val:
    """The signed exponent field, as f64. AVX2 cannot convert 64-bit integers, so the bits are
    placed in a mantissa."""
    biased = b.shr_logical(b.add(shifted, b.const(1 << 62, I64)), b.const(52, I64))
    planted = b.bitcast(b.or_(biased, b.const(0x4330000000000000, I64)), F64)
    return b.sub(planted, b.const(2.0**52 + 1024.0, F64))


def atan_wide(b: RegisterBuilder, y: Val, x: Val) -> Val:
    """The angle of the point (x, y), as atan2: divides the smaller of |x| and |y| by the larger."""
    zero, one = b.const(0.0, F64), b.const(1.0, F64)
    across, up = absolute(b, x), absolute(b, y)
    steep = b.cmp("gt", up, across)
    small, large = b.select(steep, across, up), b.select(steep, up, across)
    z = b.div(small, large)
    # 0 / 0 counts as 0, and inf / inf as 1.
    z = b.select(b.cmp("eq", large, zero), zero, z)
    z = b.select(b.cmp("eq", small, b.const(math.inf, F64)), one, z)
    square = b.mul(z, z)
    angle = b.fma(b.mul(square, horner(b, square, _ATAN_TAIL)), z, z)
    angle = b.select(steep, b.sub(b.const(math.pi / 2, F64), angle), angle)
    leftward = b.cmp("lt", b.bitcast(x, I64), b.const(0, I64))
    angle = b.select(leftward, b.sub(b.const(math.pi, F64), angle), angle)
    angle = b.math("copysign", angle, y)
    return b.select(b.cmp("uno", x, y), b.const(math.nan, F64), angle)
