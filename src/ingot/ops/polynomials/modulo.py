"""fmod, exactly. A quotient below 2²² takes one division and one fma; if a lane has a larger one, a
branch passes the whole vector to Sleef. The result is exact and has the sign of x; fmod(x, 0),
fmod(inf, y) and NaN give NaN, fmod(x, inf) gives x.
"""

from __future__ import annotations

from ingot.ops.polynomials.forms import absolute, with_sign_of
from ingot.ops.polynomials.sleef import library
from ingot.ops.registers import RegisterBuilder
from ingot.ops.values import Val


def fmod(b: RegisterBuilder, x: Val, y: Val) -> Val:
    x, y = b.same_lanes(x, y)
    size, divisor = absolute(b, x), absolute(b, y)
    quotient = b.div(size, divisor)
    # False for NaN and for 0 / 0 as well: Sleef handles those.
    easy = b.cmp("lt", quotient, b.const(2.0**22, x.dtype))
    hard = b.any(b.not_(easy))
    return b.branch(
        hard,
        lambda: library(b, "fmod", x, y, suffix=""),
        lambda: _fmod_of_small_quotient(b, x, size, divisor, quotient),
    )


def _fmod_of_small_quotient(
    b: RegisterBuilder, x: Val, size: Val, divisor: Val, quotient: Val
) -> Val:
    """If the division rounded up, the truncated quotient may be one too large; the remainder is
    then negative."""
    whole = b.math("trunc", quotient)
    rest = b.fma(b.neg(whole), divisor, size)
    rest = b.select(b.cmp("lt", rest, b.const(0.0, x.dtype)), b.add(rest, divisor), rest)
    # An infinite divisor gives 0 · inf for a quotient of 0.
    rest = b.select(b.cmp("eq", whole, b.const(0.0, x.dtype)), size, rest)
    return with_sign_of(b, rest, x)
