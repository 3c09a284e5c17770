"""Activation functions. Formulas, constants and the order of operations are those of ATen's CPU
kernels, except where the same value can be computed without cancellation (gelu, mish).
Half-precision types are computed in f32 and rounded once.
"""

from __future__ import annotations

import math
from functools import partial

from ingot.ops import polynomials
from ingot.ops.polynomials.forms import at_most
from ingot.ops.registers import RegisterBuilder
from ingot.ops.rules import Operand, pointwise
from ingot.ops.scalar.select import clamp, maximum, minimum
from ingot.ops.values import Val

activation = partial(pointwise, integers=False)
GELU_BETA = math.sqrt(2) * (2 / math.sqrt(math.pi)) * 0.5
GELU_KAPPA = 0.044715
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


@activation("gelu.default", cost=22)
def gelu(b: RegisterBuilder, x: Val, approximate: str) -> Val:
    if approximate == "tanh":
        return b.mul(x, polynomials.sigmoid(b, double_gelu_inner(b, x)))
    return polynomials.times_normal_cdf(b, x)


def double_gelu_inner(b: RegisterBuilder, x: Val) -> Val:
    """2 β (x + κ x³): half of 1 + tanh(u) is sigmoid(2u), which does not cancel for negative u."""
    cube = b.mul(b.mul(x, x), x)
    inner = b.fma(b.const(GELU_KAPPA, x.dtype), cube, x)
    return b.mul(b.const(2 * GELU_BETA, x.dtype), inner)


@activation("silu.default", cost=18)
def silu(b: RegisterBuilder, x: Val) -> Val:
    return b.div(x, b.add(b.const(1.0, x.dtype), polynomials.exp(b, b.neg(x))))


@activation("mish.default", cost=20)
def mish(b: RegisterBuilder, x: Val) -> Val:
    grown = softplus_growth(b, x)
    return b.mul(x, b.div(grown, b.add(grown, b.const(2.0, x.dtype))))


def softplus_growth(b: RegisterBuilder, x: Val) -> Val:
    """n = e² + 2e with e = exp(x): tanh(softplus(x)) is n / (n + 2). Above 40 the ratio is 1 and
    its slope 0, even in f64."""
    e = polynomials.exp(b, at_most(b, x, 40.0))
    return b.mul(e, b.add(e, b.const(2.0, x.dtype)))


@activation("softplus.default", cost=30, unpromoted=("beta", "threshold"))
def softplus(b: RegisterBuilder, x: Val, beta: Val, threshold: Val) -> Val:
    scaled = b.mul(x, beta)
    value = b.div(polynomials.log1p(b, polynomials.exp(b, scaled)), beta)
    return b.select(b.cmp("gt", scaled, threshold), x, value)


@activation("elu.default", cost=18, unpromoted=("alpha", "scale", "input_scale"))
def elu(b: RegisterBuilder, x: Val, alpha: Val, scale: Val, input_scale: Val) -> Val:
    below = b.mul(polynomials.expm1(b, b.mul(x, input_scale)), b.mul(alpha, scale))
    return b.select(b.cmp("lt", x, b.const(0.0, x.dtype)), below, b.mul(x, scale))


@activation("celu.default", cost=18, unpromoted=("alpha",), raw=("alpha",))
def celu(b: RegisterBuilder, x: Val, alpha: Operand) -> Val:
    one = b.const(1.0, x.dtype)
    if isinstance(alpha, Val):
        return elu(b, x, b.cast(alpha, x.dtype), one, b.div(one, b.cast(alpha, x.dtype)))
    return elu(b, x, b.const(alpha, x.dtype), one, b.const(1.0 / alpha, x.dtype))


@activation("selu.default", cost=18)
def selu(b: RegisterBuilder, x: Val) -> Val:
    one = b.const(1.0, x.dtype)
    return elu(b, x, b.const(SELU_ALPHA, x.dtype), b.const(SELU_SCALE, x.dtype), one)


@activation("leaky_relu.default", cost=2, unpromoted=("negative_slope",))
def leaky_relu(b: RegisterBuilder, x: Val, slope: Val) -> Val:
    return b.select(b.cmp("gt", x, b.const(0.0, x.dtype)), x, b.mul(x, slope))


@activation("_prelu_kernel.default", cost=2)
def prelu(b: RegisterBuilder, x: Val, weight: Val) -> Val:
    return b.select(b.cmp("gt", x, b.const(0.0, x.dtype)), x, b.mul(weight, x))


@pointwise("hardtanh.default", cost=2, unpromoted=("min_val", "max_val"), halves="exact")
def hardtanh(b: RegisterBuilder, x: Val, low: Val, high: Val) -> Val:
    return clamp(b, x, low, high)


@pointwise("relu6.default", cost=2, halves="exact")
def relu6(b: RegisterBuilder, x: Val) -> Val:
    return clamp(b, x, b.const(0, x.dtype), b.const(6, x.dtype))


@activation("hardsigmoid.default", cost=8)
def hardsigmoid(b: RegisterBuilder, x: Val) -> Val:
    return b.div(_relu6_of_shifted(b, x), b.const(6.0, x.dtype))


@activation("hardswish.default", cost=9)
def hardswish(b: RegisterBuilder, x: Val) -> Val:
    return b.div(b.mul(x, _relu6_of_shifted(b, x)), b.const(6.0, x.dtype))


def _relu6_of_shifted(b: RegisterBuilder, x: Val) -> Val:
    raised = maximum(b, b.add(x, b.const(3.0, x.dtype)), b.const(0.0, x.dtype))
    return minimum(b, raised, b.const(6.0, x.dtype))


@activation("hardshrink.default", cost=3, unpromoted=("lambd",), halves="exact")
def hardshrink(b: RegisterBuilder, x: Val, limit: Val) -> Val:
    inside = b.and_(b.cmp("ge", x, b.neg(limit)), b.cmp("le", x, limit))
    return b.select(inside, b.const(0.0, x.dtype), x)


@activation("softshrink.default", cost=5, unpromoted=("lambd",))
def softshrink(b: RegisterBuilder, x: Val, limit: Val) -> Val:
    below = b.select(b.cmp("lt", x, b.neg(limit)), b.add(x, limit), b.const(0.0, x.dtype))
    value = b.select(b.cmp("gt", x, limit), b.sub(x, limit), below)
    return b.select(b.isnan(x), x, value)
