"""Sizes as Python text: every function in torch's symbolic shapes is printed, and the text
evaluates to sympy's value."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import pytest
import sympy
from torch.utils._sympy import functions

from ingot.errors import UnsupportedError
from ingot.plan.sizes import SizePrinter, evaluator

A, B, C = symbols = sympy.symbols("s0 s1 s2", integer=True, positive=True)
NAMES = {symbol: symbol.name for symbol in symbols}
VALUES = list(itertools.product((1, 2, 5, 7), (1, 2, 3), (2, 4)))
WITHOUT_TEXT = {"IsNonOverlappingAndDenseIndicator"}
"""It takes any number of sizes and strides; guards on it do not affect sizes."""
FLOAT = functions.ToFloat(A)
HALF = functions.IntTrueDiv(A, B)
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "Where": (sympy.Gt(A, B), B, C),
    "ModularIndexing": (A * 3 + 1, B, C),
    "FloatPow": (functions.ToFloat(A), functions.ToFloat(B)),
    "FloatTrueDiv": (functions.ToFloat(A), functions.ToFloat(B)),
    "RoundDecimal": (HALF, sympy.Integer(1)),
    "CleanDiv": (A * B, B),
    "CeilDiv": (A, B),
    **dict.fromkeys(("CeilToInt", "FloorToInt", "TruncToInt", "TruncToFloat"), (HALF,)),
    "RoundToInt": (HALF,),
    **dict.fromkeys(("OpaqueUnaryFn_asin", "OpaqueUnaryFn_acos"), (functions.IntTrueDiv(1, A),)),
}  # fmt: skip


def known_functions() -> list[str]:
    found = [
        name
        for name, value in vars(functions).items()
        if inspect.isclass(value)
        and issubclass(value, sympy.Function)
        and value.__module__ == functions.__name__
    ]
    return sorted({*found, "Max", "Min"})


def made(name: str) -> Any:
    function = getattr(functions, name)
    given = ARGUMENTS.get(name)
    if given is None:
        parameters = (
            inspect.signature(function.eval).parameters if name not in ("Max", "Min") else ()
        )
        given = symbols[: len(parameters) or 2]
    return function(*given)


@pytest.mark.parametrize("name", [n for n in known_functions() if n not in WITHOUT_TEXT])
def test_the_text_of_a_function_has_its_value(name: str) -> None:
    expr = made(name)
    text = SizePrinter(NAMES).doprint(expr)
    for values in VALUES:
        known = dict(zip(symbols, values, strict=True))
        found = eval(text, {s.name: v for s, v in known.items()})
        wanted = expr.xreplace({s: sympy.Integer(v) for s, v in known.items()})
        assert float(found) == pytest.approx(float(wanted)), (text, values)


COMPOUND = [
    functions.FloorDiv(A + B, 2) * C - functions.Mod(A * B, C),
    sympy.sqrt(A) * 2 + sympy.Pow(B, -1),
    sympy.Abs(A - B) + sympy.floor(A / B) - sympy.ceiling(A / B),
    functions.TruncToInt(functions.FloatTrueDiv(7.0, functions.FloatPow(FLOAT, 0.5))),
    functions.Max(A - B, functions.CeilToInt(HALF), 3),
    A**3 - sympy.Rational(1, 2) * (B * B + B),
    sympy.Piecewise((A, sympy.Gt(A, B)), (B, True)),
]  # fmt: skip


@pytest.mark.parametrize("expr", COMPOUND, ids=str)
def test_sizes_made_of_several_functions(expr: Any) -> None:
    if expr.has(sympy.Piecewise):
        with pytest.raises(UnsupportedError, match="Piecewise"):
            SizePrinter(NAMES).doprint(expr)
        return
    sizes = evaluator([expr], list(symbols))
    for values in VALUES:
        wanted = expr.xreplace({s: sympy.Integer(v) for s, v in zip(symbols, values, strict=True)})
        assert sizes(values) == [int(float(wanted))], values
