"""lgamma and digamma. lgamma is Sleef's. digamma is shifted up by ten through its recurrence, with
all ten fractions combined into one, and evaluated there by its asymptotic series; left of zero it
is reflected. f32 is computed in f64 lanes; the pole at 0 gives ∓inf, those at the negative integers
NaN, as in ATen.
"""

from __future__ import annotations

import math

from ingot.ops.polynomials.forms import F64, absolute, horner, narrow, widen, with_sign_of
from ingot.ops.polynomials.sleef import library
from ingot.ops.polynomials.trigonometric import small_tangent
from ingot.ops.polynomials.wide import log_wide
from ingot.ops.registers import RegisterBuilder
from ingot.ops.values import Val

_SHIFT = 10
# log z - 1/(2z) - digamma(z), over 1/z², in powers of 1/z²: Bernoulli numbers.
_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def lgamma(b: RegisterBuilder, x: Val) -> Val:
    return library(b, "lgamma", x)


def digamma(b: RegisterBuilder, x: Val) -> Val:
    precise = x.dtype is F64
    wide = x if precise else widen(b, x)
    zero, one = b.const(0.0, F64), b.const(1.0, F64)
    negative = b.cmp("lt", wide, zero)
    value = _right_of_zero(b, b.select(negative, b.sub(one, wide), wide), precise)
    value = b.select(negative, b.sub(value, _pi_cotangent(b, wide, precise)), value)
    whole = b.cmp("eq", b.math("trunc", wide), wide)
    value = b.select(b.and_(negative, whole), b.const(math.nan, F64), value)
    pole = with_sign_of(b, b.const(math.inf, F64), b.neg(wide))
    value = b.select(b.cmp("eq", wide, zero), pole, value)
    return value if precise else narrow(b, value)


def _right_of_zero(b: RegisterBuilder, x: Val, precise: bool) -> Val:
    one, zero = b.const(1.0, F64), b.const(0.0, F64)
    low = b.cmp("lt", x, b.const(float(_SHIFT), F64))
    base = b.select(low, x, one)
    product, slope = base, one
    for k in range(1, _SHIFT):
        factor = b.add(base, b.const(float(k), F64))
        slope = b.fma(slope, factor, product)
        product = b.mul(product, factor)
    fractions = b.select(low, b.div(slope, product), zero)
    z = b.select(low, b.add(x, b.const(float(_SHIFT), F64)), x)
    inverse = b.div(one, z)
    square = b.mul(inverse, inverse)
    log = library(b, "log", z) if precise else log_wide(b, z)
    value = b.fma(b.const(-0.5, F64), inverse, log)
    value = b.sub(value, b.mul(square, horner(b, square, _SERIES)))
    return b.sub(value, fractions)


def _pi_cotangent(b: RegisterBuilder, x: Val, precise: bool) -> Val:
    """π cot(πx), from the distance to the nearest integer and the tangent of an angle below π/4."""
    rest = b.sub(x, b.math("roundeven", x))
    size = absolute(b, rest)
    near = b.cmp("le", size, b.const(0.25, F64))
    angle = b.mul(b.const(math.pi, F64), b.select(near, size, b.sub(b.const(0.5, F64), size)))
    tangent = library(b, "tan", angle) if precise else small_tangent(b, angle)
    cotangent = b.select(near, b.div(b.const(1.0, F64), tangent), tangent)
    return with_sign_of(b, b.mul(b.const(math.pi, F64), cotangent), rest)
