"""Sums, products and ops composed of them: add, sub, mul, neg, abs, sign, square, addcmul, addcdiv,
lerp. Integers wrap; for bool, a sum is `or` and a product `and`. The order of operations is that of
ATen's kernels, so that floats are equal to the bit.
"""

from __future__ import annotations

import math

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as Kind

from ingot.errors import UnsupportedError
from ingot.ops.dtypes import UNSIGNED, is_float
from ingot.ops.registers import RegisterBuilder
from ingot.ops.rules import Operand, pointwise
from ingot.ops.values import Val


def is_number(value: Operand, number: float) -> bool:
    """Whether an argument is this number, known at compile time."""
    return isinstance(value, int | float) and value == number


def as_val(b: RegisterBuilder, value: Operand, dtype: torch.dtype) -> Val:
    return value if isinstance(value, Val) else b.const(value, dtype)


@pointwise("add.Tensor", "add.Scalar", raw=("alpha",), halves="rounded")
def add(b: RegisterBuilder, x: Val, y: Val, alpha: Operand) -> Val:
    if x.dtype is torch.bool:
        return b.or_(x, y if is_number(alpha, 1) else b.and_(y, as_val(b, alpha, x.dtype)))
    return _add_scaled(b, x, y, alpha)


def _add_scaled(b: RegisterBuilder, x: Val, y: Val, alpha: Operand) -> Val:
    if is_number(alpha, 1):
        return b.add(x, y)
    factor = as_val(b, alpha, x.dtype)
    return b.fma(y, factor, x) if is_float(x.dtype) else b.add(x, b.mul(y, factor))


@pointwise("sub.Tensor", "sub.Scalar", raw=("alpha",), halves="rounded")
def sub(b: RegisterBuilder, x: Val, y: Val, alpha: Operand) -> Val:
    if x.dtype is torch.bool:
        raise UnsupportedError("eager has no subtraction of bool")
    if is_number(alpha, 1):
        return b.sub(x, y)
    return _add_scaled(b, x, y, b.neg(as_val(b, alpha, x.dtype)))


@pointwise("rsub.Tensor", "rsub.Scalar", raw=("alpha",), halves="rounded")
def rsub(b: RegisterBuilder, x: Val, y: Val, alpha: Operand) -> Val:
    return sub(b, y, x, alpha)


@pointwise("mul.Tensor", "mul.Scalar", single="other")
def mul(b: RegisterBuilder, x: Val, y: Val) -> Val:
    return b.and_(x, y) if x.dtype is torch.bool else b.mul(x, y)


@pointwise("square.default", kind=Kind.BOOL_TO_LONG)
def square(b: RegisterBuilder, x: Val) -> Val:
    return b.mul(x, x)


@pointwise("neg.default", halves="exact", bools=False)
def neg(b: RegisterBuilder, x: Val) -> Val:
    return b.neg(x)


@pointwise("abs.default", kind=Kind.COMPLEX_TO_FLOAT, halves="exact", bools=False)
def absolute(b: RegisterBuilder, x: Val) -> Val:
    if is_float(x.dtype):
        return b.math("absf", x)
    if x.dtype in UNSIGNED:
        return x
    return b.select(b.cmp("lt", x, b.const(0, x.dtype)), b.neg(x), x)


@pointwise("sign.default", "sgn.default", cost=4, halves="exact")
def sign(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype is torch.bool:
        return x
    zero, one = b.const(0, x.dtype), b.const(1, x.dtype)
    positive = b.select(b.cmp("gt", x, zero), one, zero)
    if x.dtype in UNSIGNED:
        return positive
    return b.select(b.cmp("lt", x, zero), b.const(-1, x.dtype), positive)


@pointwise("signbit.default", kind=Kind.ALWAYS_BOOL, halves="exact")
def signbit(b: RegisterBuilder, x: Val) -> Val:
    if x.dtype in UNSIGNED or x.dtype is torch.bool:
        return b.const(0, torch.bool, x.lanes)
    if is_float(x.dtype):
        kind = torch.int64 if x.dtype is torch.float64 else torch.int32
        x = b.bitcast(x, kind)
    return b.cmp("lt", x, b.const(0, x.dtype))


@pointwise("addcmul.default", unpromoted=("value",), cost=3)
def addcmul(b: RegisterBuilder, x: Val, y: Val, z: Val, value: Val) -> Val:
    scaled = b.mul(value, y)
    return b.fma(scaled, z, x) if is_float(x.dtype) else b.add(x, b.mul(scaled, z))


@pointwise("addcdiv.default", unpromoted=("value",), cost=6, integers=False)
def addcdiv(b: RegisterBuilder, x: Val, y: Val, z: Val, value: Val) -> Val:
    return b.add(x, b.div(b.mul(value, y), z))


@pointwise(
    "lerp.Tensor", "lerp.Scalar", unpromoted=("weight",), raw=("weight",), cost=5, integers=False
)
def lerp(b: RegisterBuilder, start: Val, end: Val, weight: Operand) -> Val:
    """start + w (end - start), computed from the nearer end."""
    w = b.cast(as_val(b, weight, start.dtype), start.dtype)
    difference = b.sub(end, start)
    near = b.fma(w, difference, start)
    rest = b.sub(w, b.const(1.0, w.dtype))
    far = b.fma(rest, difference, end)
    return b.select(b.cmp("lt", b.math("absf", w), b.const(0.5, w.dtype)), near, far)


@pointwise("copysign.Tensor", "copysign.Scalar", kind=Kind.INT_TO_FLOAT, halves="exact", cost=2)
def copysign(b: RegisterBuilder, x: Val, y: Val) -> Val:
    return b.math("copysign", x, y)


@pointwise("nan_to_num.default", cost=6, halves="exact")
def nan_to_num(
    b: RegisterBuilder, x: Val, nan: float | None, posinf: float | None, neginf: float | None
) -> Val:
    if not is_float(x.dtype):
        return x
    limits = torch.finfo(x.dtype)
    low, high = b.const(-math.inf, x.dtype), b.const(math.inf, x.dtype)
    upper = b.const(limits.max if posinf is None else posinf, x.dtype)
    lower = b.const(limits.min if neginf is None else neginf, x.dtype)
    result = b.select(b.cmp("eq", x, high), upper, b.select(b.cmp("eq", x, low), lower, x))
    return b.select(b.isnan(x), b.const(nan or 0.0, x.dtype), result)
