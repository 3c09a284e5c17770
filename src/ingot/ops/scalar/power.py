"""Powers. The exponents with special formulas in ATen (0, 1, 2, 3, ±1/2, -1, -2) give the results
of those formulas. A number next to a half-precision tensor, exponent or base, is first rounded to
its dtype. Integer powers wrap; a negative integer exponent gives 0 except for the bases 1 and -1.
"""

from __future__ import annotations

import torch

from ingot.errors import UnsupportedError
from ingot.ops import polynomials
from ingot.ops.dtypes import HALVES, UNSIGNED, is_float, rounded
from ingot.ops.registers import RegisterBuilder
from ingot.ops.rules import Operand, pointwise
from ingot.ops.scalar.arithmetic import as_val
from ingot.ops.values import Val


@pointwise("pow.Tensor_Tensor", "pow.Scalar", "prims::pow.default", cost=40, halves="rounded")
def pow_tensor(b: RegisterBuilder, x: Val, exponent: Val) -> Val:
    if is_float(x.dtype):
        return polynomials.pow(b, x, exponent)
    return _integer_power(b, x, exponent)


@pointwise("pow.Tensor_Scalar", cost=20, halves="exact", raw=("exponent",))
def pow_scalar(b: RegisterBuilder, x: Val, exponent: Operand) -> Val:
    if x.dtype not in HALVES:
        return _power_of_number(b, x, exponent)
    return b.cast(_half_power(b, x, exponent), x.dtype)


def _half_power(b: RegisterBuilder, x: Val, exponent: Operand) -> Val:
    """ATen rounds each product of bf16. For float16 it has no special formulas, which shows at -inf
    and -0.0, and in the number of roundings."""
    wide = Val(x.name, torch.float32, x.lanes)
    if not isinstance(exponent, int | float):
        given = b.cast(exponent, x.dtype)
        return pow_tensor(b, wide, Val(given.name, torch.float32, given.lanes))
    number = rounded(float(exponent), x.dtype)
    if x.dtype is torch.bfloat16 and number in (3, -2):
        square = b.round_half(b.mul(wide, wide), x.dtype)
        square = Val(square.name, torch.float32, square.lanes)
        one = b.const(1, torch.float32)
        return b.mul(square, wide) if number == 3 else b.div(one, square)
    if x.dtype is torch.float16 and abs(number) == 0.5:
        return pow_tensor(b, wide, b.const(number, torch.float32))
    return _power_of_number(b, wide, number)


def _power_of_number(b: RegisterBuilder, x: Val, exponent: Operand) -> Val:
    if not isinstance(exponent, int | float):
        return pow_tensor(b, x, b.cast(exponent, x.dtype))
    if x.dtype is torch.bool:
        raise UnsupportedError("powers of bool")
    if not is_float(x.dtype) and exponent < 0:
        raise UnsupportedError("eager refuses integers to negative integer powers")
    known = _special_power(b, x, float(exponent))
    return known or pow_tensor(b, x, as_val(b, exponent, x.dtype))


def _special_power(b: RegisterBuilder, x: Val, exponent: float) -> Val | None:
    one = b.const(1, x.dtype)
    if exponent == 0:
        return b.const(1, x.dtype, x.lanes)
    if exponent == 1:
        return x
    if exponent == 2:
        return b.mul(x, x)
    if exponent == 3:
        return b.mul(b.mul(x, x), x)
    if not is_float(x.dtype):
        return None
    if exponent == 0.5:
        return b.math("sqrt", x)
    if exponent == -0.5:
        return b.div(one, b.math("sqrt", x))
    if exponent == -1:
        return b.div(one, x)
    if exponent == -2:
        return b.div(one, b.mul(x, x))
    return None


def _integer_power(b: RegisterBuilder, x: Val, exponent: Val) -> Val:
    """Square and multiply, until no lane has a bit of its exponent left."""
    if x.dtype is torch.bool:
        raise UnsupportedError("powers of bool")
    base, left = b.same_lanes(x, exponent)
    zero, one = b.const(0, x.dtype), b.const(1, x.dtype)

    def odd(value: Val) -> Val:
        return b.cmp("ne", b.and_(value, one), zero)

    _, _, result = b.repeat_while(
        [base, left, b.const(1, x.dtype, base.lanes)],
        lambda v: b.any(b.cmp("ne", v[1], zero)),
        lambda v: [
            b.mul(v[0], v[0]),
            b.shr_logical(v[1], one),
            b.select(odd(v[1]), b.mul(v[2], v[0]), v[2]),
        ],
    )
    if x.dtype in UNSIGNED:
        return result
    minus_one = b.const(-1, x.dtype)
    alternating = b.select(odd(left), minus_one, one)
    inverse = b.select(b.cmp("eq", base, minus_one), alternating, zero)
    inverse = b.select(b.cmp("eq", base, one), one, inverse)
    return b.select(b.cmp("lt", left, zero), inverse, result)
