"""sinh, cosh and the inverse hyperbolic functions: f32 in f64 lanes, by exp and log, with a short
series where the sum would cancel. Results are rounded once, so they are off by hardly more than
half an ulp; overflow gives inf, arguments outside the domain NaN. f64 calls Sleef.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.ops.polynomials.forms import F64, LN2, absolute, horner, narrow, widen, with_sign_of
from ingot.ops.polynomials.sleef import library
from ingot.ops.polynomials.wide import exp_wide, log_wide
from ingot.ops.registers import RegisterBuilder
from ingot.ops.values import Val

# Below this, the series of three terms is exact to f32.
_SMALL = 2.0**-6


def sinh(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "sinh", x)
    wide = widen(b, x)
    size = absolute(b, wide)
    e = exp_wide(b, size)
    large = b.mul(b.const(0.5, F64), b.sub(e, b.div(b.const(1.0, F64), e)))
    return _odd(b, wide, size, large, (1 / 6, 1 / 120))


def cosh(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "cosh", x)
    e = exp_wide(b, absolute(b, widen(b, x)))
    return narrow(b, b.mul(b.const(0.5, F64), b.add(e, b.div(b.const(1.0, F64), e))))


def asinh(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return _unless_huge(b, x, library(b, "asinh", x))
    wide = widen(b, x)
    size = absolute(b, wide)
    root = b.math("sqrt", b.fma(size, size, b.const(1.0, F64)))
    return _odd(b, wide, size, log_wide(b, b.add(size, root)), (-1 / 6, 3 / 40, -15 / 336))


def acosh(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return _unless_huge(b, x, library(b, "acosh", x))
    wide, one = widen(b, x), b.const(1.0, F64)
    # Below 1 one factor is negative, below -1 both are: in each case the first root is NaN.
    root = b.mul(b.math("sqrt", b.sub(wide, one)), b.math("sqrt", b.add(wide, one)))
    return narrow(b, log_wide(b, b.add(wide, root)))


def atanh(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "atanh", x)
    wide, one = widen(b, x), b.const(1.0, F64)
    size = absolute(b, wide)
    ratio = b.div(b.add(one, size), b.sub(one, size))
    outside = b.cmp("gt", size, one)
    ratio = b.select(outside, b.const(float("nan"), F64), ratio)
    large = b.mul(b.const(0.5, F64), log_wide(b, ratio))
    return _odd(b, wide, size, large, (1 / 3, 1 / 5, 1 / 7))


def _unless_huge(b: RegisterBuilder, x: Val, value: Val) -> Val:
    """Sleef squares its argument, which overflows; the result of a huge one is log(2|x|), with the
    sign of `value`."""
    size = absolute(b, x)
    huge = b.and_(b.cmp("gt", size, b.const(1e150, F64)), b.not_(b.isnan(value)))

    def replaced() -> Val:
        large = b.add(library(b, "log", size), b.const(LN2, F64))
        return b.select(huge, with_sign_of(b, large, value), value)

    return b.branch(b.any(huge), replaced, lambda: value)


def _odd(b: RegisterBuilder, x: Val, size: Val, large: Val, series: Sequence[float]) -> Val:
    """An odd function: its series x + c x³ … for small |x|, `large` elsewhere, with the sign of
    x."""
    square = b.mul(size, size)
    small = b.fma(b.mul(square, horner(b, square, series)), size, size)
    result = b.select(b.cmp("lt", size, b.const(_SMALL, F64)), small, large)
    return narrow(b, with_sign_of(b, result, x))
