"""Symbolic sizes as native integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import sympy
import torch

from ingot.codegen.mlir.builder import Builder
from ingot.errors import SaveError
from ingot.ops.values import Val
from ingot.plan.ir import Affine, Iteration, Quotient, Requirement
from ingot.program.shapes import Size

I64, F64 = torch.int64, torch.float64
_COMPARISONS = {
    sympy.Eq: "eq", sympy.Ne: "ne", sympy.Lt: "lt", sympy.Le: "le", sympy.Gt: "gt", sympy.Ge: "ge",
}  # fmt: skip
_QUOTIENTS = ("FloorDiv", "CleanDiv")
_REMAINDERS = ("Mod", "PythonMod")
MOST = 1 << 46
"""Bytes; with fewer, no size overflows 64 bits."""


class SizeWriter:
    """Writes expressions over the symbols of a plan; `symbol` gives the value of one."""

    def __init__(self, b: Builder, symbol: Callable[[sympy.Symbol], Val]):
        self.b, self._symbol = b, symbol

    def const(self, value: int) -> Val:
        return self.b.const(value, I64)

    def value(self, size: Size) -> Val:
        if isinstance(size, int):
            return self.const(size)
        if isinstance(size, sympy.Integer):
            return self.const(int(size))
        if isinstance(size, sympy.Symbol):
            return self._symbol(size)
        if isinstance(size, sympy.Pow) and size.exp.is_Integer and size.exp > 0:
            return reduce(self.b.mul, [self.value(size.base)] * int(size.exp))
        return self._function(size)

    def _function(self, size: Any) -> Val:
        b, name = self.b, type(size).__name__
        parts = [self.value(each) for each in size.args] if _is_plain(size) else []
        match name:
            case "Add":
                return reduce(b.add, parts)
            case "Mul":
                return reduce(b.mul, parts)
            case "Max":
                return reduce(b.maximum, parts)
            case "Min":
                return reduce(b.minimum, parts)
        if name in (*_QUOTIENTS, *_REMAINDERS) and _is_positive(size.args[1]):
            quotient, remainder = self.divided(*parts)
            return quotient if name in _QUOTIENTS else remainder
        raise SaveError(f"a size has the form {size}, for which there is no native code")

    def divided(self, x: Val, y: Val) -> tuple[Val, Val]:
        """Quotient and remainder, rounded down, by a positive number."""
        b = self.b
        quotient, remainder = b.div(x, y), b.rem(x, y)
        below = b.cmp("lt", remainder, self.const(0))
        lower = b.sub(quotient, self.const(1))
        return b.select(below, lower, quotient), b.select(below, b.add(remainder, y), remainder)

    def condition(self, condition: Any) -> Val:
        b = self.b
        if isinstance(condition, bool | sympy.logic.boolalg.BooleanAtom):
            return b.const(int(bool(condition)), torch.bool)
        if isinstance(condition, sympy.And | sympy.Or):
            parts = [self.condition(each) for each in condition.args]
            return reduce(b.and_ if isinstance(condition, sympy.And) else b.or_, parts)
        if isinstance(condition, sympy.Not):
            return b.not_(self.condition(condition.args[0]))
        for kind, predicate in _COMPARISONS.items():
            if isinstance(condition, kind):
                return b.cmp(
                    predicate, self.value(condition.args[0]), self.value(condition.args[1])
                )
        raise SaveError(f"a condition has the form {condition}, for which there is no native code")

    # -- assumptions -------------------------------------------------------------------------------

    def holds(self, required: Requirement) -> Val:
        """Whether all indices are inside, or there are none."""
        b = self.b
        low, high = self._extremes(required.index)
        inside = b.and_(
            b.cmp("ge", low, self.const(0)), b.cmp("lt", high, self.value(required.size))
        )
        return b.or_(inside, b.cmp("gt", low, high))

    def _extremes(self, index: Affine) -> tuple[Val, Val]:
        """The least and the greatest value; the first exceeds the second if there is none."""
        b = self.b
        low = high = self.value(index.constant)
        empty = b.const(0, torch.bool)
        for factor, term in index.terms:
            by = self.value(factor)
            least, most = self._range(term)
            empty = b.or_(empty, b.cmp("lt", most, least))
            ends = b.mul(by, least), b.mul(by, most)
            low, high = b.add(low, b.minimum(*ends)), b.add(high, b.maximum(*ends))
        return b.select(empty, self.const(1), low), b.select(empty, self.const(0), high)

    def _range(self, term: Any) -> tuple[Val, Val]:
        b, zero, one = self.b, self.const(0), self.const(1)
        if isinstance(term, Iteration):
            return zero, b.sub(self.value(term.size), one)
        least, most = self._extremes(term.of)
        step = self.value(term.by)
        none = b.or_(b.cmp("lt", most, least), b.cmp("le", step, zero))
        step = b.maximum(step, one)
        (first, start), (last, end) = self.divided(least, step), self.divided(most, step)
        if not isinstance(term, Quotient):
            same = b.cmp("eq", first, last)
            first = b.select(same, start, zero)
            last = b.select(same, end, b.sub(step, one))
        return b.select(none, one, first), b.select(none, zero, last)

    # -- overflow ----------------------------------------------------------------------------------

    def is_small(self, size: Size) -> Val:
        """Whether it is below MOST, computed in f64, which does not overflow."""
        return self.b.cmp("lt", self._estimate(size), self.b.const(float(MOST), F64))

    def _estimate(self, size: Any) -> Val:
        """A bound of a size."""
        b = self.b
        if isinstance(size, int | sympy.Integer):
            return b.const(float(int(size)), F64)
        if isinstance(size, sympy.Symbol):
            return b.cast(self._symbol(size), F64)
        name = type(size).__name__
        if name == "Pow":
            return reduce(b.mul, [self._estimate(size.base)] * int(size.exp))
        if name in (*_QUOTIENTS, *_REMAINDERS):
            return self._estimate(size.args[0])
        parts = [self._estimate(each) for each in size.args]
        steps = {"Mul": b.mul, "Min": b.minimum, "Max": b.maximum}
        return reduce(steps.get(name, b.add), parts)


def _is_plain(size: Any) -> bool:
    names = ("Add", "Mul", "Max", "Min", *_QUOTIENTS, *_REMAINDERS)
    return type(size).__name__ in names


def _is_positive(size: Any) -> bool:
    """Sizes are at least 1 in every call."""
    if isinstance(size, sympy.Symbol):
        return True
    if isinstance(size, sympy.Mul):
        return all(map(_is_positive, size.args))
    return bool(size.is_Integer and size > 0)


def joined(b: Builder, conditions: Sequence[Val]) -> Val:
    """Whether all of them hold."""
    return reduce(b.and_, conditions, b.const(1, torch.bool))
