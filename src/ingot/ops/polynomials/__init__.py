"""The mathematical functions that generated code inlines, on Vals of f32 or f64. f32 is branch-free
vector arithmetic unless stated otherwise, f64 calls Sleef; every function is total (NaN, ±inf,
denormals) and its worst error is tested.
"""

from ingot.ops.polynomials.error import erf, erfc, erfcx, log_ndtr, normal_cdf, times_normal_cdf
from ingot.ops.polynomials.exponential import exp, exp2, expm1, sigmoid, tanh
from ingot.ops.polynomials.gamma import digamma, lgamma
from ingot.ops.polynomials.hyperbolic import acosh, asinh, atanh, cosh, sinh
from ingot.ops.polynomials.inverse_error import erfinv, ndtri
from ingot.ops.polynomials.logarithm import log, log1p, log2, log10
from ingot.ops.polynomials.modulo import fmod
from ingot.ops.polynomials.power import hypot, pow
from ingot.ops.polynomials.sleef import library
from ingot.ops.polynomials.trigonometric import acos, asin, atan, atan2, cos, sin, tan

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "digamma",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "fmod",
    "hypot",
    "lgamma",
    "library",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_ndtr",
    "ndtri",
    "normal_cdf",
    "pow",
    "sigmoid",
    "sin",
    "sinh",
    "tan",
    "tanh",
    "times_normal_cdf",
]  # fmt: skip
