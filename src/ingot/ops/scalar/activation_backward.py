"""Gradients of activation functions: (gradient, input or output, …) -> gradient. Formulas and the
order of operations are ATen's; half-precision types are computed in f32 and rounded once.
"""

from __future__ import annotations

import math
from functools import partial

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as Kind

from ingot.ops import polynomials
from ingot.ops.registers import RegisterBuilder
from ingot.ops.rules import pointwise
from ingot.ops.scalar.activation import (
    GELU_BETA,
    GELU_KAPPA,
    double_gelu_inner,
    softplus_growth,
)
from ingot.ops.values import Val

gradient = partial(pointwise, integers=False)


def _one(b: RegisterBuilder, x: Val) -> Val:
    return b.const(1.0, x.dtype)


@gradient("sigmoid_backward.default", cost=3)
def sigmoid_backward(b: RegisterBuilder, grad: Val, output: Val) -> Val:
    return b.mul(b.mul(grad, b.sub(_one(b, grad), output)), output)


@gradient("tanh_backward.default", cost=3)
def tanh_backward(b: RegisterBuilder, grad: Val, output: Val) -> Val:
    return b.mul(grad, b.fma(b.neg(output), output, _one(b, grad)))


@gradient("gelu_backward.default", cost=40)
def gelu_backward(b: RegisterBuilder, grad: Val, x: Val, approximate: str) -> Val:
    square = b.mul(x, x)
    if approximate == "tanh":
        s, bend = _sigmoid_and_bend(b, double_gelu_inner(b, x))
        inner = b.fma(b.const(3 * GELU_KAPPA, x.dtype), square, _one(b, x))
        slope = b.mul(b.const(2 * GELU_BETA, x.dtype), inner)
        return b.mul(grad, b.fma(b.mul(x, bend), slope, s))
    beta = b.const((2 / math.sqrt(math.pi)) * math.sqrt(0.5) * 0.5, x.dtype)
    density = b.mul(beta, polynomials.exp(b, b.mul(square, b.const(-0.5, x.dtype))))
    return b.mul(grad, b.fma(x, density, polynomials.normal_cdf(b, x)))


def _sigmoid_and_bend(b: RegisterBuilder, x: Val) -> tuple[Val, Val]:
    """s = sigmoid(x) and s (1 - s), both from exp(-|x|), so that neither cancels."""
    one = _one(b, x)
    e = polynomials.exp(b, b.neg(b.math("absf", x)))
    inverse = b.div(one, b.add(one, e))
    s = b.mul(b.select(b.cmp("lt", x, b.const(0.0, x.dtype)), e, one), inverse)
    return s, b.mul(b.mul(e, inverse), inverse)


@gradient("silu_backward.default", cost=22)
def silu_backward(b: RegisterBuilder, grad: Val, x: Val) -> Val:
    one = _one(b, x)
    s = polynomials.sigmoid(b, x)
    return b.mul(b.mul(grad, s), b.fma(x, b.sub(one, s), one))


@gradient("mish_backward.default", cost=40)
def mish_backward(b: RegisterBuilder, grad: Val, x: Val) -> Val:
    """With n / (n + 2) = tanh(softplus(x)), one minus its square is 4 (n + 1) / (n + 2)²."""
    one, two, four = _one(b, x), b.const(2.0, x.dtype), b.const(4.0, x.dtype)
    n = softplus_growth(b, x)
    inverse = b.div(one, b.add(n, two))
    bend = b.mul(b.mul(four, b.mul(b.add(n, one), inverse)), inverse)
    steep = b.mul(b.mul(x, polynomials.sigmoid(b, x)), bend)
    return b.mul(grad, b.add(b.mul(n, inverse), steep))


@gradient("softplus_backward.default", cost=18, unpromoted=("beta", "threshold"))
def softplus_backward(b: RegisterBuilder, grad: Val, x: Val, beta: Val, threshold: Val) -> Val:
    scaled = b.mul(x, beta)
    z = polynomials.exp(b, scaled)
    value = b.div(b.mul(grad, z), b.add(z, _one(b, x)))
    return b.select(b.cmp("gt", scaled, threshold), grad, value)


@gradient("elu_backward.default", cost=18, unpromoted=("alpha", "scale", "input_scale"))
def elu_backward(
    b: RegisterBuilder, grad: Val, alpha: Val, scale: Val, input_scale: Val, is_result: bool, x: Val
) -> Val:
    coefficient = b.mul(alpha, scale)
    below = b.mul(grad, input_scale)
    if is_result:
        below = b.mul(below, b.add(x, coefficient))
    else:
        below = b.mul(b.mul(below, coefficient), polynomials.exp(b, b.mul(x, input_scale)))
    return b.select(b.cmp("gt", x, b.const(0.0, x.dtype)), b.mul(grad, scale), below)


@gradient("leaky_relu_backward.default", cost=2, unpromoted=("negative_slope",))
def leaky_relu_backward(b: RegisterBuilder, grad: Val, x: Val, slope: Val, _: bool) -> Val:
    return b.select(b.cmp("gt", x, b.const(0.0, x.dtype)), grad, b.mul(grad, slope))


@gradient("hardtanh_backward.default", cost=3, unpromoted=("min_val", "max_val"))
def hardtanh_backward(b: RegisterBuilder, grad: Val, x: Val, low: Val, high: Val) -> Val:
    inside = b.and_(b.cmp("gt", x, low), b.cmp("lt", x, high))
    return b.select(inside, grad, b.const(0.0, x.dtype))


@gradient("hardsigmoid_backward.default", cost=4)
def hardsigmoid_backward(b: RegisterBuilder, grad: Val, x: Val) -> Val:
    three = b.const(3.0, x.dtype)
    inside = b.and_(b.cmp("gt", x, b.neg(three)), b.cmp("lt", x, three))
    sixth = b.const(1.0 / 6.0, torch.float32)
    return b.select(inside, b.mul(grad, b.cast(sixth, x.dtype)), b.const(0.0, x.dtype))


@gradient("hardswish_backward.default", cost=8)
def hardswish_backward(b: RegisterBuilder, grad: Val, x: Val) -> Val:
    three = b.const(3.0, x.dtype)
    middle = b.mul(grad, b.add(b.div(x, three), b.const(0.5, x.dtype)))
    value = b.select(b.cmp("ge", x, three), grad, middle)
    return b.select(b.cmp("le", x, b.neg(three)), b.const(0.0, x.dtype), value)


@gradient(
    "hardshrink_backward.default", "softshrink_backward.default", cost=3, unpromoted=("lambd",),
    halves="exact",
)  # fmt: skip
def shrink_backward(b: RegisterBuilder, grad: Val, x: Val, limit: Val) -> Val:
    outside = b.or_(b.cmp("lt", x, b.neg(limit)), b.cmp("gt", x, limit))
    return b.select(outside, grad, b.const(0.0, x.dtype))


@gradient("log_sigmoid_backward.default", cost=8)
def log_sigmoid_backward(b: RegisterBuilder, grad: Val, x: Val, buffer: Val) -> Val:
    """`buffer` is exp(-|x|), saved by the CPU's forward kernel."""
    zero, one = b.const(0.0, x.dtype), _one(b, x)
    negative = b.cmp("lt", x, zero)
    share = b.div(buffer, b.add(one, buffer))
    value = b.select(negative, b.sub(one, share), b.add(zero, share))
    return b.mul(value, grad)


@gradient("logit_backward.default", cost=8, halves="rounded", raw=("eps",))
def logit_backward(b: RegisterBuilder, grad: Val, x: Val, eps: float | None) -> Val:
    one = _one(b, x)
    low = b.const(0.0 if eps is None else eps, x.dtype)
    high = one if eps is None else b.sub(one, low)
    inside = b.and_(b.cmp("ge", x, low), b.cmp("le", x, high))
    outside = b.const(math.nan if eps is None else 0.0, x.dtype)
    return b.select(inside, b.div(grad, b.mul(x, b.sub(one, x))), outside)


@pointwise("native_dropout_backward.default", kind=Kind.INT_TO_FLOAT, cost=2, unpromoted=("mask",))
def native_dropout_backward(b: RegisterBuilder, grad: Val, mask: Val, scale: float) -> Val:
    return b.mul(grad, b.mul(b.cast(mask, grad.dtype), b.const(scale, grad.dtype)))
