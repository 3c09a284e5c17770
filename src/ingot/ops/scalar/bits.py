"""Bitwise ops, shifts, gcd, lcm and nextafter. A shift by a negative count, or by the width or
more, gives ATen's result: 0 to the left, the sign to the right.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from ingot.errors import UnsupportedError
from ingot.ops.dtypes import UNSIGNED, bits_of, is_float
from ingot.ops.registers import RegisterBuilder
from ingot.ops.rules import pointwise
from ingot.ops.scalar.arithmetic import absolute
from ingot.ops.scalar.division import integer_quotient
from ingot.ops.values import Val


def _bitwise(name: str, combine: Callable[[RegisterBuilder, Val, Val], Val], *more: str) -> None:
    forms = [f"bitwise_{name}.{form}" for form in ("Tensor", "Scalar", "Scalar_Tensor")]

    @pointwise(*forms, f"prims::bitwise_{name}.default", *more)
    def bitwise(b: RegisterBuilder, x: Val, y: Val) -> Val:
        _integers_only(x)
        return combine(b, x, y)


def _integers_only(x: Val) -> None:
    if is_float(x.dtype):
        raise UnsupportedError("eager has no bitwise ops on floats")


_bitwise("and", RegisterBuilder.and_, "__and__.Tensor", "__and__.Scalar")
_bitwise("or", RegisterBuilder.or_, "__or__.Tensor", "__or__.Scalar")
_bitwise("xor", RegisterBuilder.xor, "__xor__.Tensor", "__xor__.Scalar")


@pointwise("bitwise_not.default", "prims::bitwise_not.default")
def bitwise_not(b: RegisterBuilder, x: Val) -> Val:
    _integers_only(x)
    return b.not_(x)


@pointwise(
    "bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar",
    "bitwise_left_shift.Scalar_Tensor", "__lshift__.Tensor", "__lshift__.Scalar",
    "prims::shift_left.default", cost=3,
)  # fmt: skip
def left_shift(b: RegisterBuilder, x: Val, count: Val) -> Val:
    inside, safe = _checked_count(b, x, count, bits_of(x.dtype))
    return b.select(inside, b.shl(x, safe), b.const(0, x.dtype))


@pointwise(
    "bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar",
    "bitwise_right_shift.Scalar_Tensor", "__rshift__.Tensor", "__rshift__.Scalar",
    "prims::shift_right_arithmetic.default", cost=3,
)  # fmt: skip
def right_shift(b: RegisterBuilder, x: Val, count: Val) -> Val:
    width = bits_of(x.dtype)
    inside, safe = _checked_count(b, x, count, width)
    if x.dtype in UNSIGNED:
        return b.select(inside, b.shr(x, safe), b.const(0, x.dtype))
    return b.shr(x, b.select(inside, safe, b.const(width - 1, x.dtype)))


def _checked_count(b: RegisterBuilder, x: Val, count: Val, width: int) -> tuple[Val, Val]:
    """Whether the count, as an unsigned number, is below the width; and a count that is."""
    if is_float(x.dtype) or x.dtype is torch.bool:
        raise UnsupportedError(f"shifts of {x.dtype}")
    unsigned = {8: torch.uint8, 16: torch.uint16, 32: torch.uint32, 64: torch.uint64}[width]
    inside = b.cmp("lt", b.cast(count, unsigned), b.const(width, unsigned))
    return inside, b.select(inside, count, b.const(0, x.dtype))


@pointwise("gcd.default", "prims::gcd.default", cost=60)
def gcd(b: RegisterBuilder, x: Val, y: Val) -> Val:
    """Euclid's algorithm, until every lane has finished."""
    if is_float(x.dtype) or x.dtype is torch.bool:
        raise UnsupportedError(f"gcd of {x.dtype}")
    first, second = b.same_lanes(absolute(b, x), absolute(b, y))
    zero, one = b.const(0, x.dtype), b.const(1, x.dtype)

    def step(values: list[Val]) -> list[Val]:
        a, c = values
        done = b.cmp("eq", a, zero)
        divisor = b.select(done, one, a)
        rest = b.sub(c, b.mul(integer_quotient(b, c, divisor), divisor))
        return [b.select(done, a, rest), b.select(done, c, a)]

    _, result = b.repeat_while(
        [first, second],
        lambda v: b.any(b.cmp("ne", v[0], zero)),
        lambda v: step(list(v)),
    )
    return result


@pointwise("lcm.default", cost=70)
def lcm(b: RegisterBuilder, x: Val, y: Val) -> Val:
    divisor = gcd(b, x, y)
    zero = b.cmp("eq", divisor, b.const(0, x.dtype))
    safe = b.select(zero, b.const(1, x.dtype), divisor)
    quotient = integer_quotient(b, x, safe)
    # C multiplies narrow integers as int, and takes the absolute value of that.
    wide = torch.int32 if bits_of(x.dtype) < 32 else x.dtype
    product = absolute(b, b.mul(b.cast(quotient, wide), b.cast(y, wide)))
    return b.select(zero, b.const(0, x.dtype), b.cast(product, x.dtype))


@pointwise("nextafter.default", "prims::nextafter.default", cost=8, halves="exact", integers=False)
def nextafter(b: RegisterBuilder, x: Val, y: Val) -> Val:
    """The neighbour of x towards y: one step on the bits, up if it leads away from zero."""
    x, y = b.same_lanes(x, y)
    kind = {torch.float64: torch.int64, torch.float32: torch.int32}.get(x.dtype, torch.int16)
    zero, one = b.const(0, x.dtype), b.const(1, kind)
    bits = b.bits(x)
    away = b.xor(b.cmp("gt", y, x), b.cmp("lt", x, zero))
    moved = b.select(away, b.add(bits, one), b.sub(bits, one))
    sign = b.and_(b.bits(y), b.const(-1 << (bits_of(kind) - 1), kind))
    moved = b.select(b.cmp("eq", x, zero), b.or_(sign, one), moved)
    result = b.select(b.cmp("eq", x, y), y, b.from_bits(moved, x.dtype))
    return b.select(b.cmp("uno", x, y), b.add(x, y), result)
