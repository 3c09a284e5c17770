"""erf, inlined in f32. Below 0.93 an odd polynomial; above it 1 - exp(p(|x|)), where p approximates log(erfc). What
holds: erf(±inf) = ±1, NaN stays, the sign of zero stays; worst errors stand in tests/unit/test_polynomials.py. f64 goes
to Sleef.
"""

from __future__ import annotations

from ingot.codegen.builder import Builder, Val
from ingot.codegen.polynomials.exponential import exp_in_range
from ingot.codegen.polynomials.forms import F64, absolute, at_most, horner, with_sign_of
from ingot.codegen.polynomials.library import library

# erf(x) / x - 1 in powers of x², |x| <= 0.9277.
ERF_SMALL = (
    1.28379166e-1, -3.76125336e-1, 1.12819925e-1, -2.67681349e-2, 4.99119423e-3, -5.96761703e-4,
)  # fmt: skip
# log(erfc(t)) + t over t, 0.9277 <= t <= 4.
ERFC_LOG = (
    -1.28717512e-1, -6.34846687e-1, -1.06777877e-1, 2.42546219e-2, -3.88396438e-3, 3.83197126e-4, -1.72853470e-5,
)  # fmt: skip


def erf(b: Builder, x: Val) -> Val:
    if x.dtype is F64:
        return library(b, "erf", x)
    size = absolute(b, x)
    square = b.mul(x, x)
    small = b.fma(horner(b, square, ERF_SMALL), x, x)
    t = at_most(b, size, 4.0)
    complement = exp_in_range(b, b.fma(horner(b, t, ERFC_LOG), t, b.neg(t)))
    large = with_sign_of(b, b.sub(b.const(1.0, x.dtype), complement), x)
    return b.select(b.cmp("gt", size, b.const(0.927734375, x.dtype)), large, small)
