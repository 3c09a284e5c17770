"""floor, ceil, trunc, round, frac. Ties round to even; integers stay as they are; the sign of zero
is kept.
"""

from __future__ import annotations

from ingot.ops.dtypes import is_float
from ingot.ops.registers import RegisterBuilder
from ingot.ops.rules import pointwise
from ingot.ops.values import Val


def _whole(name: str, op: str) -> None:
    @pointwise(f"{name}.default", f"prims::{name}.default", halves="exact", bools=False)
    def rounded(b: RegisterBuilder, x: Val) -> Val:
        return b.math(op, x) if is_float(x.dtype) else x


_whole("floor", "floor")
_whole("ceil", "ceil")
_whole("trunc", "trunc")
_whole("round", "roundeven")


@pointwise("round.decimals", cost=6)
def round_decimals(b: RegisterBuilder, x: Val, decimals: int) -> Val:
    if not is_float(x.dtype):
        return x
    if decimals == 0:
        return b.math("roundeven", x)
    power = b.const(10.0 ** abs(decimals), x.dtype)
    if decimals > 0:
        return b.div(b.math("roundeven", b.mul(x, power)), power)
    return b.mul(b.math("roundeven", b.div(x, power)), power)


@pointwise("frac.default", cost=2, integers=False)
def frac(b: RegisterBuilder, x: Val) -> Val:
    return b.sub(x, b.math("trunc", x))
