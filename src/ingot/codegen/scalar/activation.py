"""Activation functions. What holds: the formulas, constants and order of operations are those of ATen's CPU kernels;
halves are computed in f32 and rounded once.
"""

from __future__ import annotations

import math

from ingot.codegen import polynomials
from ingot.codegen.builder import Builder, Val
from ingot.codegen.rules import pointwise


@pointwise("gelu.default", cost=22, integers=False)
def gelu(b: Builder, x: Val, approximate: str = "none") -> Val:
    one, half = b.const(1.0, x.dtype), b.const(0.5, x.dtype)
    if approximate == "tanh":
        cube = b.mul(b.mul(x, x), x)
        inner = b.add(x, b.mul(b.const(0.044715, x.dtype), cube))
        inner = b.mul(b.const(math.sqrt(2) * (2 / math.sqrt(math.pi)) * 0.5, x.dtype), inner)
        return b.mul(b.mul(half, x), b.add(one, polynomials.tanh(b, inner)))
    inner = polynomials.erf(b, b.mul(x, b.const(math.sqrt(0.5), x.dtype)))
    return b.mul(b.mul(x, half), b.add(one, inner))


@pointwise("silu.default", cost=18, integers=False)
def silu(b: Builder, x: Val) -> Val:
    one = b.const(1.0, x.dtype)
    return b.div(x, b.add(one, polynomials.exp(b, b.neg(x))))
