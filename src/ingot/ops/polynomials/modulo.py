"""fmod, exactly. Where the quotient is below 2²² it is one division and one fma; where a lane has a
greater one, the whole vector goes to Sleef behind a branch. What holds: the result is exact and has
the sign of x; fmod(x, 0), fmod(inf, y) and NaN give NaN, fmod(x, inf) gives x.
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
    # Also taken by NaN and by 0 / 0: Sleef answers those.
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
    """The truncated quotient may be one too great where the division rounded up; the remainder then
    is negative."""
    whole = b.math("trunc", quotient)
    rest = b.fma(b.neg(whole), divisor, size)
    rest = b.select(b.cmp("lt", rest, b.const(0.0, x.dtype)), b.add(rest, divisor), rest)
    # An infinite divisor makes 0 · inf of a quotient that is 0.
    rest = b.select(b.cmp("eq", whole, b.const(0.0, x.dtype)), size, rest)
    return with_sign_of(b, rest, x)
