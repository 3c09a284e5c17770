"""sin, cos, tan and the inverse functions. f32 sin and cos are reduced by multiples of π/2 in three
parts; tan and the inverses are computed in f64 lanes and rounded once. A lane whose |x| exceeds the
reach of the reduction takes Sleef's result, behind a branch, so that huge arguments are accurate as
well; ±inf gives NaN.
"""

from __future__ import annotations

import math

import torch

from ingot.ops.polynomials.forms import (
    F32,
    F64,
    I32,
    absolute,
    horner,
    narrow,
    nearest_integer,
    widen,
)
from ingot.ops.polynomials.sleef import library
from ingot.ops.polynomials.wide import atan_wide
from ingot.ops.registers import RegisterBuilder
from ingot.ops.values import Val

# π/2 in three parts of f32.
_HALF_PI = (1.5707962512969971, 7.549789415861596e-08, 5.390302529957765e-15)
# Largest |x| for which three parts and the 22 bits of the quotient suffice.
_REACH = 71476.0
# sin(r) / r - 1 over r², |r| <= π/4; minimax, 2^-28.
_SIN_TAIL = (-0.16666655242443085, 0.008332188241183758, -0.0001951809535967186)
# cos(r) - 1 over r²; minimax, 2^-33.
_COS_TAIL = (-0.5, 0.04166664555668831, -0.0013887309469282627, 2.4432327336398885e-05)
# π/2 in two parts of f64, and tan(r) / r - 1 over r², |r| <= π/4; minimax, 2^-37.
_HALF_PI_WIDE = (math.pi / 2, 6.123233995736766e-17)
_REACH_WIDE = 1.0e9
_TAN_TAIL = (
    0.3333333346441618, 0.13333324894290383, 0.05397011537026662, 0.021849489922744696,
    0.008983691886438423, 0.003159863056271804, 0.002389780758904245, -0.0005722933885339193,
    0.0009508721709764223,
)  # fmt: skip


def sin(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "sin", x)
    # sin is odd: computing it for |x| and copying the sign of x makes sin(-0.0) -0.0.
    value = _quarter_waves(b, absolute(b, x), 0)
    sign = b.and_(b.bitcast(x, I32), b.const(-(1 << 31), I32))
    value = b.bitcast(b.xor(b.bitcast(value, I32), sign), F32)
    return _or_sleef(b, "sin", x, _REACH, value)


def cos(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "cos", x)
    return _or_sleef(b, "cos", x, _REACH, _quarter_waves(b, x, 1))


def _or_sleef(b: RegisterBuilder, name: str, x: Val, reach: float, value: Val) -> Val:
    """`value`, with Sleef's result in the lanes out of reach: a lane's result does not depend on
    its neighbours."""
    beyond = b.cmp("gt", absolute(b, x), b.const(reach, x.dtype))
    return b.branch(
        b.any(beyond), lambda: b.select(beyond, library(b, name, x), value), lambda: value
    )


def _quarter_waves(b: RegisterBuilder, x: Val, phase: int) -> Val:
    """sin(x + phase · π/2): x is n · π/2 + r, and n + phase selects ±sin(r) or ±cos(r)."""
    n, integer = nearest_integer(b, x, 2 / math.pi)
    r = x
    for part in _HALF_PI:
        r = b.fma(n, b.const(-part, F32), r)
    square = b.mul(r, r)
    sine = b.fma(b.mul(square, horner(b, square, _SIN_TAIL)), r, r)
    cosine = b.fma(square, horner(b, square, _COS_TAIL), b.const(1.0, F32))
    quadrant = b.add(integer, b.const(phase, I32)) if phase else integer
    odd = b.cmp("ne", b.and_(quadrant, b.const(1, I32)), b.const(0, I32))
    value = b.bitcast(b.select(odd, cosine, sine), I32)
    sign = b.shl(b.and_(quadrant, b.const(2, I32)), b.const(30, I32))
    return b.bitcast(b.xor(value, sign), F32)


def tan(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "tan", x)
    return _or_sleef(b, "tan", x, _REACH_WIDE, _tan_within_reach(b, x))


def small_tangent(b: RegisterBuilder, r: Val) -> Val:
    """tan of an f64 below π/4, to 2^-37."""
    square = b.mul(r, r)
    return b.fma(b.mul(square, horner(b, square, _TAN_TAIL)), r, r)


def _tan_within_reach(b: RegisterBuilder, x: Val) -> Val:
    wide = widen(b, x)
    n, integer = nearest_integer(b, wide, 2 / math.pi)
    r = b.fma(n, b.const(-_HALF_PI_WIDE[0], F64), wide)
    r = b.fma(n, b.const(-_HALF_PI_WIDE[1], F64), r)
    tangent = small_tangent(b, r)
    one, minus_one = b.const(1.0, F64), b.const(-1.0, F64)
    odd = b.cmp("ne", b.and_(integer, b.const(1, torch.int64)), b.const(0, torch.int64))
    # tan(r + π/2) = -1 / tan(r): one division serves both.
    result = b.div(b.select(odd, minus_one, tangent), b.select(odd, tangent, one))
    return b.select(b.cmp("eq", x, b.const(0.0, F32)), x, narrow(b, result))


def atan(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "atan", x)
    return narrow(b, atan_wide(b, widen(b, x), b.const(1.0, F64, x.lanes)))


def atan2(b: RegisterBuilder, y: Val, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "atan2", y, x)
    y, x = b.same_lanes(y, x)
    return narrow(b, atan_wide(b, widen(b, y), widen(b, x)))


def asin(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "asin", x)
    wide = widen(b, x)
    return narrow(b, atan_wide(b, wide, _cosine_of(b, wide)))


def acos(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "acos", x)
    wide = widen(b, x)
    return narrow(b, atan_wide(b, _cosine_of(b, wide), wide))


def _cosine_of(b: RegisterBuilder, sine: Val) -> Val:
    """sqrt(1 - s²), exact to f64 near ±1 and NaN beyond."""
    one = b.const(1.0, F64)
    return b.math("sqrt", b.mul(b.sub(one, sine), b.add(one, sine)))
