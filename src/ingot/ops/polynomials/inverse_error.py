"""erfinv and the normal quantile. Both are functions of w = -log(1 - x²): a polynomial in w below
5, one in sqrt(w) beyond. f32 is computed in f64 lanes and rounded once; f64 starts from the same
polynomials and is refined by one Newton step. ±1 gives ±inf, arguments outside the domain NaN.
"""

from __future__ import annotations

import math

from ingot.errors import UnsupportedError
from ingot.ops.polynomials.forms import F64, absolute, horner, narrow, widen, with_sign_of
from ingot.ops.polynomials.sleef import library
from ingot.ops.polynomials.wide import log_wide
from ingot.ops.registers import RegisterBuilder
from ingot.ops.values import Val

# erfinv(x) / x in powers of w - 2.5, 0 <= w <= 5; minimax, 2^-31.
_CENTRAL = (
    1.5014093516935167, 0.2466402757858021, -0.004177324638793071, -0.0012527048800607512,
    0.0002182635592081804, -4.998756725242287e-06, -3.4260124861621844e-06, 4.796978466623809e-07,
    1.6457222699035467e-08, -1.1023076056620301e-08, 4.3703537315281335e-10, 1.3285231245828047e-10,
)  # fmt: skip
# erfinv(x) / v in powers of (v - 4.5) / (v + 4.5) - _TAIL_CENTRE, v = sqrt(w) up to 10.3; minimax,
# 2^-30.
_TAIL_CENTRE = 0.027893689413879437
_TAIL = (
    0.9679317674382479, 0.08485286144653699, -0.08165670524900526, 0.025639932588526038,
    0.043699444966127945, -0.11226792998216328, 0.16381180062312595, -0.20665250145811168,
    0.30765038026548125, -0.0088229306070632, -2.5424971415586297, 5.416405011465097,
    1.5273161646037028, -12.595373051119225, 7.088265995621079,
)  # fmt: skip


def erfinv(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        one = b.const(1.0, F64)
        first = _from_log(b, x, library(b, "log", b.mul(b.sub(one, x), b.add(one, x))))
        return _at_the_ends(b, x, _newton(b, first, x))
    wide, one = widen(b, x), b.const(1.0, F64)
    value = _from_log(b, wide, log_wide(b, b.mul(b.sub(one, wide), b.add(one, wide))))
    return narrow(b, _at_the_ends(b, wide, value))


def ndtri(b: RegisterBuilder, p: Val) -> Val:
    """sqrt(2) erfinv(2p - 1), with 1 - x² computed as 4 p (1 - p), which does not cancel."""
    if p.dtype is F64:
        raise UnsupportedError("the normal quantile in f64 needs more digits than are inlined")
    wide, one, two = widen(b, p), b.const(1.0, F64), b.const(2.0, F64)
    x = b.fma(two, wide, b.const(-1.0, F64))
    square = b.mul(b.const(4.0, F64), b.mul(wide, b.sub(one, wide)))
    value = b.mul(_from_log(b, x, log_wide(b, square)), b.const(math.sqrt(2), F64))
    end = with_sign_of(b, b.const(math.inf, F64), x)
    value = b.select(b.cmp("eq", square, b.const(0.0, F64)), end, value)
    outside = b.cmp("lt", square, b.const(0.0, F64))
    return narrow(b, b.select(outside, b.const(math.nan, F64), value))


def _from_log(b: RegisterBuilder, x: Val, log: Val) -> Val:
    w = b.neg(log)
    central = b.mul(x, horner(b, b.sub(w, b.const(2.5, F64)), _CENTRAL))
    outer = b.cmp("ge", w, b.const(5.0, F64))

    def with_tail() -> Val:
        v, middle = b.math("sqrt", w), b.const(4.5, F64)
        ratio = b.div(b.sub(v, middle), b.add(v, middle))
        place = b.sub(ratio, b.const(_TAIL_CENTRE, F64))
        tail = with_sign_of(b, b.mul(v, horner(b, place, _TAIL)), x)
        return b.select(outer, tail, central)

    # Only beyond 0.9966.
    return b.branch(b.any(outer), with_tail, lambda: central)


def _at_the_ends(b: RegisterBuilder, x: Val, value: Val) -> Val:
    size, one = absolute(b, x), b.const(1.0, F64)
    end = with_sign_of(b, b.const(math.inf, F64), x)
    value = b.select(b.cmp("eq", size, one), end, value)
    return b.select(b.cmp("gt", size, one), b.const(math.nan, F64), value)


def _newton(b: RegisterBuilder, y: Val, x: Val) -> Val:
    """One Newton step from y towards the root of erf(y) = x, through erfc where x is near ±1."""
    size, guess, one = absolute(b, x), absolute(b, y), b.const(1.0, F64)
    gauss = library(b, "exp", b.neg(b.mul(y, y)))
    slope = b.mul(b.const(2 / math.sqrt(math.pi), F64), gauss)
    far = b.sub(library(b, "erfc", guess, suffix="_u15"), b.sub(one, size))
    near = b.sub(size, library(b, "erf", guess))
    rest = b.select(b.cmp("lt", size, b.const(0.5, F64)), near, far)
    return with_sign_of(b, b.add(guess, b.div(rest, slope)), x)
