"""Selection among values: where, masked_fill, maxima and minima, clamp, threshold. A selected value
is not rounded again; `maximum` and `clamp` propagate NaN, `fmax` and `fmin` ignore it.
"""

from __future__ import annotations

import torch

from ingot.ops.dtypes import is_float
from ingot.ops.registers import RegisterBuilder
from ingot.ops.rules import pointwise
from ingot.ops.values import Val


@pointwise("where.self", unpromoted=("condition",), halves="exact")
def where(b: RegisterBuilder, condition: Val, x: Val, y: Val) -> Val:
    return b.select(b.cast(condition, torch.bool), x, y)


@pointwise(
    "where.ScalarSelf",
    "where.ScalarOther",
    "where.Scalar",
    unpromoted=("condition",),
    halves="exact",
)
def where_scalar(b: RegisterBuilder, condition: Val, x: Val, y: Val) -> Val:
    return where(b, condition, x, y)


@pointwise("masked_fill.Scalar", unpromoted=("mask", "value"), halves="exact")
def masked_fill(b: RegisterBuilder, x: Val, mask: Val, value: Val) -> Val:
    return b.select(mask, value, x)


@pointwise("masked_fill.Tensor", unpromoted=("mask", "value"), halves="exact")
def masked_fill_tensor(b: RegisterBuilder, x: Val, mask: Val, value: Val) -> Val:
    return b.select(mask, b.cast(value, x.dtype), x)


@pointwise("maximum.default", "max.other", cost=3, halves="exact")
def maximum(b: RegisterBuilder, x: Val, y: Val) -> Val:
    if not is_float(x.dtype):
        return b.maximum(x, y)
    # `x > y ? x : y` is one instruction and propagates y's NaN; x's is restored.
    return b.select(b.isnan(x), x, b.select(b.cmp("gt", x, y), x, y))


@pointwise("minimum.default", "min.other", cost=3, halves="exact")
def minimum(b: RegisterBuilder, x: Val, y: Val) -> Val:
    if not is_float(x.dtype):
        return b.minimum(x, y)
    return b.select(b.isnan(x), x, b.select(b.cmp("lt", x, y), x, y))


@pointwise("fmax.default", cost=3, halves="exact")
def fmax(b: RegisterBuilder, x: Val, y: Val) -> Val:
    if not is_float(x.dtype):
        return b.maximum(x, y)
    return b.select(b.isnan(x), y, b.select(b.cmp("gt", y, x), y, x))


@pointwise("fmin.default", cost=3, halves="exact")
def fmin(b: RegisterBuilder, x: Val, y: Val) -> Val:
    if not is_float(x.dtype):
        return b.minimum(x, y)
    return b.select(b.isnan(x), y, b.select(b.cmp("lt", y, x), y, x))


@pointwise("clamp.Tensor", "clip.Tensor", cost=6, halves="exact")
def clamp_tensor(b: RegisterBuilder, x: Val, low: Val | None, high: Val | None) -> Val:
    x = x if low is None else maximum(b, x, low)
    return x if high is None else minimum(b, x, high)


pointwise("clamp_min.Tensor", cost=3, halves="exact")(maximum)
pointwise("clamp_max.Tensor", cost=3, halves="exact")(minimum)


@pointwise("clamp.default", "clip.default", cost=2, halves="exact")
def clamp(b: RegisterBuilder, x: Val, low: Val | None, high: Val | None) -> Val:
    """Between two numbers. The bound is the left operand of the comparison, so that one instruction
    propagates x's NaN and its -0.0; a NaN bound is propagated as well."""
    x = x if low is None else clamp_min(b, x, low)
    return x if high is None else clamp_max(b, x, high)


@pointwise("clamp_min.default", halves="exact")
def clamp_min(b: RegisterBuilder, x: Val, low: Val) -> Val:
    if not is_float(x.dtype):
        return b.maximum(x, low)
    return _or_nan(b, low, b.select(b.cmp("gt", low, x), low, x))


@pointwise("clamp_max.default", halves="exact")
def clamp_max(b: RegisterBuilder, x: Val, high: Val) -> Val:
    if not is_float(x.dtype):
        return b.minimum(x, high)
    return _or_nan(b, high, b.select(b.cmp("lt", high, x), high, x))


def _or_nan(b: RegisterBuilder, bound: Val, value: Val) -> Val:
    """`value`, or the bound if that is NaN: LLVM removes the check of a constant bound."""
    return b.select(b.isnan(bound), bound, value)


@pointwise("relu.default", halves="exact", bools=False)
def relu(b: RegisterBuilder, x: Val) -> Val:
    zero = b.const(0, x.dtype)
    return b.select(b.cmp("gt", zero, x), zero, x)


@pointwise("threshold.default", unpromoted=("threshold", "value"), cost=2, halves="exact")
def threshold(b: RegisterBuilder, x: Val, limit: Val, value: Val) -> Val:
    return b.select(b.cmp("le", x, limit), value, x)


@pointwise("threshold_backward.default", unpromoted=("threshold",), cost=2, halves="exact")
def threshold_backward(b: RegisterBuilder, grad: Val, x: Val, limit: Val) -> Val:
    return b.select(b.cmp("le", x, limit), b.const(0, grad.dtype), grad)
