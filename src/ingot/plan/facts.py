"""Facts about sizes as comparisons for native code."""

from __future__ import annotations

from typing import Any

import sympy

from ingot.plan.ir import AtMost
from ingot.program.shapes import Size


def compared(fact: Any) -> AtMost:
    left, right = _sides(fact)
    return AtMost(left, right)


def _sides(fact: Any) -> tuple[Size, Size]:
    match fact:
        case sympy.Le():
            return fact.lhs, fact.rhs
        case sympy.Lt():
            return fact.lhs + 1, fact.rhs
        case sympy.Ge():
            return fact.rhs, fact.lhs
        case sympy.Gt():
            return fact.rhs + 1, fact.lhs
    return sympy.Not(fact), 0
