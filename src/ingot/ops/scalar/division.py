"""Division in all its modes, remainder and fmod. Generated code never traps: an integer divisor of
zero is replaced by one and reported through `fail_if`, as eager raises ZeroDivisionError; MIN / -1
wraps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as Kind
from torch._prims_common import elementwise_dtypes

from ingot.errors import UnsupportedError
from ingot.ops.dtypes import HALVES, UNSIGNED, bits_of, is_float
from ingot.ops.failures import ZERO_DIVISION
from ingot.ops.polynomials.modulo import fmod as float_fmod
from ingot.ops.registers import RegisterBuilder
from ingot.ops.rules import Operand, pointwise
from ingot.ops.scalar.arithmetic import as_val
from ingot.ops.values import Val

Settle = Callable[[Val], Val]


@pointwise(
    "div.Tensor",
    "div.Scalar",
    "true_divide.Tensor",
    "true_divide.Scalar",
    kind=Kind.INT_TO_FLOAT,
    cost=4,
    single="other",
)
def true_divide(b: RegisterBuilder, x: Val, y: Val) -> Val:
    return b.div(x, y)


def _mode_dtypes(arguments: dict[str, Any]) -> tuple[torch.dtype, torch.dtype]:
    kind = Kind.INT_TO_FLOAT if arguments.get("rounding_mode") is None else Kind.DEFAULT
    _, result = elementwise_dtypes(arguments["self"], arguments["other"], type_promotion_kind=kind)
    return result, result


division = partial(
    pointwise, halves="exact", raw=("other",), checks="ZeroDivisionError", single="other"
)


@division("div.Tensor_mode", "div.Scalar_mode", cost=8, dtypes=_mode_dtypes)
def divide_mode(b: RegisterBuilder, x: Val, other: Operand, rounding_mode: str | None) -> Val:
    if rounding_mode == "floor":
        return floor_divide(b, x, other)
    wide, y, settle = _in_steps(b, x, other)
    if rounding_mode is None:
        return b.cast(b.div(wide, y), x.dtype)
    if is_float(x.dtype):
        return b.cast(b.math("trunc", settle(b.div(wide, y))), x.dtype)
    return truncating_quotient(b, x, y)


@division("floor_divide.default", "floor_divide.Scalar", cost=12)
def floor_divide(b: RegisterBuilder, x: Val, other: Operand) -> Val:
    wide, y, settle = _in_steps(b, x, other)
    if is_float(x.dtype):
        return b.cast(_floor_divide_float(b, wide, y, settle), x.dtype)
    y = _checked_divisor(b, y)
    quotient = integer_quotient(b, x, y)
    if x.dtype in UNSIGNED:
        return quotient
    inexact, rest = _rest(b, x, y, quotient)
    below = b.and_(inexact, _signs_differ(b, rest, y))
    return b.select(below, b.sub(quotient, b.const(1, x.dtype)), quotient)


def _in_steps(b: RegisterBuilder, x: Val, other: Operand) -> tuple[Val, Val, Settle]:
    """The operands to compute with, and the rounding of intermediate values: ATen rounds every step
    to half precision, unless the divisor is a number or a tensor of one element, which it keeps in
    f32 like all the steps."""
    if x.dtype not in HALVES:
        return x, as_val(b, other, x.dtype), lambda value: value
    wide = Val(x.name, torch.float32, x.lanes)
    half = x.dtype
    if not isinstance(other, Val) or other.dtype is not half:
        return wide, as_val(b, other, torch.float32), lambda value: value
    return (
        wide,
        Val(other.name, torch.float32, other.lanes),
        lambda value: b.cast(b.cast(value, half), torch.float32),
    )


def truncating_quotient(b: RegisterBuilder, x: Val, y: Val) -> Val:
    """The integer quotient towards zero, with the check of its divisor."""
    return integer_quotient(b, x, _checked_divisor(b, y))


def _floor_divide_float(b: RegisterBuilder, x: Val, y: Val, settle: Settle) -> Val:
    """Python's floor division: (x - remainder) / y is nearly an integer and is rounded to one."""
    zero, one = b.const(0.0, x.dtype), b.const(1.0, x.dtype)
    plain = settle(b.div(x, y))
    rest = float_fmod(b, x, y)
    # Sleef's fmod gives NaN if the quotient overflows.
    overflows = b.and_(_is_infinite(b, plain), b.not_(_is_infinite(b, x)))
    quotient = settle(b.div(b.select(overflows, x, settle(b.sub(x, rest))), y))
    below = b.and_(b.cmp("ne", rest, zero), b.xor(b.cmp("lt", y, zero), b.cmp("lt", rest, zero)))
    quotient = b.select(below, settle(b.sub(quotient, one)), quotient)
    floor = b.math("floor", quotient)
    far = b.cmp("gt", b.sub(quotient, floor), b.const(0.5, x.dtype))
    floor = b.select(far, settle(b.add(floor, one)), floor)
    floor = b.select(b.cmp("eq", quotient, zero), b.math("copysign", zero, plain), floor)
    return b.select(b.cmp("eq", y, zero), plain, floor)


def _is_infinite(b: RegisterBuilder, x: Val) -> Val:
    return b.cmp("eq", b.math("absf", x), b.const(math.inf, x.dtype))


@pointwise(
    "remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor", cost=12, halves="rounded",
    checks="ZeroDivisionError",
)  # fmt: skip
def remainder(b: RegisterBuilder, x: Val, y: Val) -> Val:
    """The result has the sign of y."""
    if is_float(x.dtype):
        zero = b.const(0.0, x.dtype)
        rest = float_fmod(b, x, y)
        differ = b.xor(b.cmp("lt", y, zero), b.cmp("lt", rest, zero))
        return b.select(b.and_(b.cmp("ne", rest, zero), differ), b.add(rest, y), rest)
    y = _checked_divisor(b, y)
    inexact, rest = _rest(b, x, y, integer_quotient(b, x, y))
    if x.dtype in UNSIGNED:
        return rest
    return b.select(b.and_(inexact, _signs_differ(b, rest, y)), b.add(rest, y), rest)


@pointwise("fmod.Tensor", "fmod.Scalar", cost=10, halves="rounded", checks="ZeroDivisionError")
def fmod(b: RegisterBuilder, x: Val, y: Val) -> Val:
    """The result has the sign of x."""
    if is_float(x.dtype):
        return float_fmod(b, x, y)
    y = _checked_divisor(b, y)
    return _rest(b, x, y, integer_quotient(b, x, y))[1]


def _checked_divisor(b: RegisterBuilder, y: Val) -> Val:
    if y.dtype is torch.bool:
        raise UnsupportedError("eager has no integer division of bool")
    zero = b.cmp("eq", y, b.const(0, y.dtype))
    b.fail_if(zero, ZERO_DIVISION)
    return b.select(zero, b.const(1, y.dtype), y)


def _rest(b: RegisterBuilder, x: Val, y: Val, quotient: Val) -> tuple[Val, Val]:
    rest = b.sub(x, b.mul(quotient, y))
    return b.cmp("ne", rest, b.const(0, x.dtype)), rest


def _signs_differ(b: RegisterBuilder, x: Val, y: Val) -> Val:
    return b.cmp("lt", b.xor(x, y), b.const(0, x.dtype))


def integer_quotient(b: RegisterBuilder, x: Val, y: Val) -> Val:
    """x / y towards zero; y is not 0. Vector units have no integer division. A float division is
    exact if its mantissa is wider than the operands, because the quotient is an integer or at least
    1/|y| away from the next one."""
    if bits_of(x.dtype) < 64 and (x.lanes > 1 or y.lanes > 1):
        wide = torch.float32 if bits_of(x.dtype) <= 16 else torch.float64
        return b.cast(b.div(b.cast(x, wide), b.cast(y, wide)), x.dtype)
    if x.dtype in UNSIGNED:
        return b.div(x, y)
    minus_one = b.cmp("eq", y, b.const(-1, y.dtype))
    safe = b.select(minus_one, b.const(1, y.dtype), y)
    return b.select(minus_one, b.neg(x), b.div(x, safe))
