"""exp, exp2, expm1, sigmoid and tanh. f32 is inlined: round to a multiple of ln 2, evaluate a
polynomial of degree six on the remainder, apply the power of two by integer arithmetic. Denormal
results are kept, overflow gives inf, NaN stays NaN; the worst errors are in
tests/unit/test_polynomials.py. f64 calls Sleef.
"""

from __future__ import annotations

from ingot.ops.polynomials.forms import (
    F64,
    LOG2_E,
    absolute,
    at_least,
    at_most,
    horner,
    keep_zero_sign,
    nearest_integer,
    power_of_two,
    scale,
    with_sign_of,
)
from ingot.ops.polynomials.sleef import library
from ingot.ops.registers import RegisterBuilder
from ingot.ops.values import Val

# ln 2 in two parts, the first with trailing zeros, so that n · LN2_HIGH is exact.
LN2_HIGH = 0.693145751953125
LN2_LOW = 1.428606765330187e-06
# exp(r) - 1 - r over r², |r| <= ln 2 / 2; minimax, 2^-28.2.
EXP_TAIL = (
    0.4999999403953552,
    0.16666516661643982,
    0.041668105870485306,
    0.00836913101375103,
    0.0013836424332112074,
)
# 2^r - 1 over r, |r| <= 1/2; minimax, 2^-27.5.
EXP2_TAIL = (
    0.6931472420692444, 0.24022655189037323, 0.05550272390246391,
    0.009617063216865063, 0.0013418215094134212, 0.0001582019031047821,
)  # fmt: skip
# tanh(x) / x - 1 over x² in powers of x², |x| <= 0.625; minimax, 2^-27.7.
TANH_SMALL = (
    -0.3333328068256378, 0.13331405818462372, -0.05373651534318924, 0.02062816545367241,
    -0.005692290607839823,
)  # fmt: skip


def exp(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "exp", x)
    r, whole, n = _reduce(b, at_most(b, at_least(b, x, -104.0), 89.0))
    return scale(b, _exp_of_rest(b, r), whole, n)


def _reduce(b: RegisterBuilder, x: Val) -> tuple[Val, Val, Val]:
    """x = n ln 2 + r: returns r, and n as a float and as an integer."""
    n, integer = nearest_integer(b, x, LOG2_E)
    r = b.fma(n, b.const(-LN2_HIGH, x.dtype), x)
    return b.fma(n, b.const(-LN2_LOW, x.dtype), r), n, integer


def _exp_of_rest(b: RegisterBuilder, r: Val) -> Val:
    return horner(b, r, (1.0, 1.0, *EXP_TAIL))


def _expm1_of_rest(b: RegisterBuilder, r: Val) -> Val:
    return b.fma(b.mul(r, r), horner(b, r, EXP_TAIL), r)


def exp_in_range(b: RegisterBuilder, x: Val) -> Val:
    """exp for results that are certainly normal: -87 < x < 88.7."""
    r, whole, n = _reduce(b, x)
    if b.can_scale(x):
        return b.scale(_exp_of_rest(b, r), whole)
    return b.mul(_exp_of_rest(b, r), power_of_two(b, n))


def exp2(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "exp2", x)
    bounded = at_most(b, at_least(b, x, -151.0), 129.0)
    return exp2_of_product(b, bounded, b.const(1.0, x.dtype))


def exp2_of_product(b: RegisterBuilder, x: Val, y: Val, halvings: int = 0) -> Val:
    """2^(x y), halved `halvings` times, where -151 <= x y - halvings <= 129. The product is never
    rounded: an fma gives its small distance to the nearest integer."""
    n, integer = nearest_integer(b, x, y)
    r = b.fma(x, y, b.neg(n))
    halved = [c * 0.5**halvings for c in (1.0, *EXP2_TAIL)]
    return scale(b, horner(b, r, halved), n, integer)


def expm1(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "expm1", x)
    one, two_127 = b.const(1.0, x.dtype), b.const(2.0**127, x.dtype)
    bounded = at_most(b, at_least(b, x, -17.5), 89.0)
    r, _, n = _reduce(b, bounded)
    p = _expm1_of_rest(b, r)
    power = power_of_two(b, n)
    result = b.fma(power, p, b.sub(power, one))
    # 2^128 is not an f32: there the sum is computed at half its size.
    top = b.fma(two_127, p, two_127)
    result = b.select(b.cmp("eq", n, b.const(128, n.dtype)), b.add(top, top), result)
    return keep_zero_sign(b, result, x)


def sigmoid(b: RegisterBuilder, x: Val) -> Val:
    """1 / (1 + exp(-x)), as in eager."""
    one = b.const(1.0, x.dtype)
    return b.div(one, b.add(one, exp(b, b.neg(x))))


def tanh(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "tanh", x)
    one, two = b.const(1.0, x.dtype), b.const(2.0, x.dtype)
    size = absolute(b, x)
    square = b.mul(x, x)
    small = b.fma(b.mul(square, horner(b, square, TANH_SMALL)), size, size)
    bounded = at_most(b, size, 9.1)
    e = exp_in_range(b, b.add(bounded, bounded))
    large = b.sub(one, b.div(two, b.add(e, one)))
    result = b.select(b.cmp("lt", size, b.const(0.625, x.dtype)), small, large)
    return with_sign_of(b, result, x)
