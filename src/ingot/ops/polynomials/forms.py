"""Building blocks of the inlined functions: Horner's scheme, clamps that propagate NaN, the
exponent field of an f32, signs. A multiplication followed by an addition is an explicit fma, and
every choice is a select that the vector units have, never a branch.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ingot.ops.registers import RegisterBuilder
from ingot.ops.values import Val

F32 = torch.float32
F64 = torch.float64
I32 = torch.int32
LOG2_E = 1.4426950408889634
LN2 = 0.6931471805599453


def horner(b: RegisterBuilder, x: Val, coefficients: Sequence[float]) -> Val:
    """c[0] + c[1] x + c[2] x² …"""
    total = b.const(coefficients[-1], x.dtype)
    for coefficient in reversed(coefficients[:-1]):
        total = b.fma(total, x, b.const(coefficient, x.dtype))
    return total


def split_horner(b: RegisterBuilder, x: Val, coefficients: Sequence[float], plain: int = 0) -> Val:
    """The same sum with even and odd powers separate: half the dependency chain, for one more
    multiplication. The first `plain` coefficients, which determine the rounding, are added in
    sequence."""
    square = b.mul(x, x)
    even = horner(b, square, coefficients[plain::2])
    odd = horner(b, square, coefficients[plain + 1 :: 2])
    total = b.fma(odd, x, even)
    for coefficient in reversed(coefficients[:plain]):
        total = b.fma(total, x, b.const(coefficient, x.dtype))
    return total


def at_least(b: RegisterBuilder, x: Val, bound: float) -> Val:
    """max(x, bound); NaN stays. This order of operands is one instruction."""
    low = b.const(bound, x.dtype)
    return b.select(b.cmp("gt", low, x), low, x)


def at_most(b: RegisterBuilder, x: Val, bound: float) -> Val:
    high = b.const(bound, x.dtype)
    return b.select(b.cmp("lt", high, x), high, x)


def integer_type(x: Val) -> torch.dtype:
    """The integer type that holds a float's bits."""
    return torch.int64 if x.dtype is F64 else torch.int32


def absolute(b: RegisterBuilder, x: Val) -> Val:
    return b.math("absf", x)


def with_sign_of(b: RegisterBuilder, x: Val, sign: Val) -> Val:
    return b.math("copysign", x, sign)


def keep_zero_sign(b: RegisterBuilder, result: Val, x: Val) -> Val:
    """For functions whose result has the sign of x: restores a -0.0 that a sum has lost."""
    kind = integer_type(x)
    minus_zero = b.const(-(1 << (bits_of_float(x) - 1)), kind)
    sign = b.and_(b.bitcast(x, kind), minus_zero)
    return b.bitcast(b.or_(b.bitcast(result, kind), sign), x.dtype)


def bits_of_float(x: Val) -> int:
    return 64 if x.dtype is F64 else 32


def power_of_two(b: RegisterBuilder, n: Val) -> Val:
    """2ⁿ as f32 for an i32 n in -126 … 127 (f64 for an i64 in -1022 … 1023)."""
    dtype, mantissa, bias = (F32, 23, 127) if n.dtype is I32 else (F64, 52, 1023)
    biased = b.add(n, b.const(bias, n.dtype))
    return b.bitcast(b.shl(biased, b.const(mantissa, n.dtype)), dtype)


def scale(b: RegisterBuilder, x: Val, whole: Val, n: Val) -> Val:
    """x · 2ⁿ for n as a float and as an integer. Without an instruction for it, each half of the
    exponent is a separate factor, which makes overflow and denormals correct."""
    if b.can_scale(x):
        return b.scale(x, whole)
    half = b.shr(n, b.const(1, n.dtype))
    return b.mul(b.mul(x, power_of_two(b, half)), power_of_two(b, b.sub(n, half)))


def nearest_integer(b: RegisterBuilder, x: Val, y: Val | float) -> tuple[Val, Val]:
    """n = round(x · y) as a float and as an integer. Adding 1.5 · 2²³ leaves n in the low bits."""
    kind, magic = (I32, 12582912.0) if x.dtype is F32 else (torch.int64, 6755399441055744.0)
    shifter = b.const(magic, x.dtype)
    factor = b.const(y, x.dtype) if isinstance(y, float) else y
    shifted = b.fma(x, factor, shifter)
    integer = b.sub(b.bitcast(shifted, kind), b.bitcast(shifter, kind))
    return b.sub(shifted, shifter), integer


def widen(b: RegisterBuilder, x: Val) -> Val:
    return b.cast(x, F64)


def narrow(b: RegisterBuilder, x: Val) -> Val:
    return b.cast(x, F32)
