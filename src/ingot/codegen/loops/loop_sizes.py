"""Emits symbolic sizes as i64 values: an int, or a sympy expression over the symbols of dynamic
dimensions. Every symbol is an argument of the function."""

from __future__ import annotations

from collections.abc import Mapping

import sympy
import torch

from ingot.codegen.mlir.builder import Builder
from ingot.errors import UnsupportedError
from ingot.ops.values import Val
from ingot.program.shapes import Size

I64 = torch.int64


def emit_size(b: Builder, size: Size, symbols: Mapping[sympy.Symbol, Val]) -> Val:
    if isinstance(size, int):
        return b.const(size, I64)
    if size.is_Integer:
        return b.const(int(size), I64)
    if isinstance(size, sympy.Symbol):
        return symbols[size]
    if _is_rounded_quotient(size):
        x, y = (emit_size(b, a, symbols) for a in size.args[0].args)
        return _rounded_quotient(b, type(size).__name__, x, y)
    operands = [emit_size(b, a, symbols) for a in size.args]
    name = type(size).__name__
    if name in ("Add", "Mul", "Max", "Min"):
        step = {"Add": b.add, "Mul": b.mul, "Max": b.maximum, "Min": b.minimum}[name]
        total = operands[0]
        for operand in operands[1:]:
            total = step(total, operand)
        return total
    if name == "Pow" and size.exp.is_Integer and size.exp > 0:
        total = operands[0]
        for _ in range(int(size.exp) - 1):
            total = b.mul(total, operands[0])
        return total
    if name in ("FloorDiv", "CleanDiv"):
        return floor_div(b, *operands)
    if name in ("Mod", "PythonMod", "ModularIndexing"):
        if name == "ModularIndexing":
            return floor_mod(b, floor_div(b, operands[0], operands[1]), operands[2])
        return floor_mod(b, *operands)
    raise UnsupportedError(f"a size of the form {size}")


def _is_rounded_quotient(size: sympy.Expr) -> bool:
    """Whether it is `math.ceil(x / y)`, or another rounding. Below 2**53, integers are exact
    there."""
    rounds = type(size).__name__ in ("CeilToInt", "FloorToInt", "TruncToInt")
    return rounds and type(size.args[0]).__name__ == "IntTrueDiv"


def _rounded_quotient(b: Builder, rounding: str, x: Val, y: Val) -> Val:
    if rounding == "TruncToInt":
        return b.div(x, y)
    if rounding == "FloorToInt":
        return floor_div(b, x, y)
    zero = b.const(0, I64)
    return b.sub(zero, floor_div(b, b.sub(zero, x), y))


def floor_div(b: Builder, x: Val, y: Val) -> Val:
    zero = b.const(0, I64)
    quotient, rest = b.div(x, y), b.rem(x, y)
    below = b.xor(b.cmp("lt", rest, zero), b.cmp("lt", y, zero))
    inexact = b.and_(b.cmp("ne", rest, zero), below)
    return b.select(inexact, b.sub(quotient, b.const(1, I64)), quotient)


def floor_mod(b: Builder, x: Val, y: Val) -> Val:
    return b.sub(x, b.mul(floor_div(b, x, y), y))
