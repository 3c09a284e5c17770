"""The mathematical functions that generated code inlines. Comes in: a builder and Vals of f32 or f64; goes out: the Val
of the function. What holds: f32 is branch-free vector arithmetic unless said otherwise, f64 is Sleef's; every function
is total (NaN, ±inf, denormals) and its worst error is tested.
"""

from ingot.codegen.polynomials.error import erf
from ingot.codegen.polynomials.exponential import exp, exp2, expm1, sigmoid, tanh
from ingot.codegen.polynomials.library import library
from ingot.codegen.polynomials.logarithm import log, log1p, log2, log10

__all__ = [
    "erf",
    "exp",
    "exp2",
    "expm1",
    "library",
    "log",
    "log1p",
    "log2",
    "log10",
    "sigmoid",
    "tanh",
]
