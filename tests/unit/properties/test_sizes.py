"""Symbolic sizes as Python code, against sympy."""

from __future__ import annotations

import math
from typing import Any

import pytest
import sympy
import torch.utils._sympy.functions as functions
from hypothesis import given
from hypothesis import strategies as st

from ingot.errors import UnsupportedError
from ingot.plan.sizes import evaluator, identifier, symbols_in

from .drawn import examples

SYMBOLS = [sympy.Symbol(name, integer=True, positive=True) for name in "stu"]
SIGNED = [sympy.Symbol(name, integer=True) for name in "xyz"]


@st.composite
def sizes(draw: Any, symbols: list[sympy.Symbol], depth: int = 3) -> Any:
    """Integer expressions over the symbols."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(symbols) | st.integers(-9, 9).map(sympy.Integer))
    one = draw(sizes(symbols, depth - 1))
    other = draw(sizes(symbols, depth - 1))
    by = sympy.Integer(draw(st.integers(1, 7)))
    kind = draw(st.sampled_from(["+", "-", "*", "div", "mod", "max", "min", "pow", "part"]))
    match kind:
        case "+":
            return one + other
        case "-":
            return one - other
        case "*":
            return one * other
        case "div":
            return functions.FloorDiv(one, by)
        case "mod":
            return functions.PythonMod(one, by)
        case "max":
            return functions.Max(one, other)
        case "min":
            return functions.Min(one, other)
        case "pow":
            return one**2
    return functions.FloorDiv(one, functions.Max(sympy.Integer(1), other))


def check(expr: Any, symbols: list[sympy.Symbol], values: tuple[int, ...]) -> None:
    expected = int(sympy.sympify(expr).xreplace(dict(zip(symbols, map(sympy.Integer, values)))))
    assert evaluator([expr], symbols)(values) == [expected], expr


@examples(2)
@given(sizes(SYMBOLS), st.tuples(*[st.integers(1, 40)] * 3))
def test_sizes_evaluate_as_in_sympy(expr: Any, values: tuple[int, ...]) -> None:
    check(expr, SYMBOLS, values)


@examples(2)
@given(sizes(SIGNED), st.tuples(*[st.integers(-40, 40)] * 3))
def test_negative_numbers_are_rounded_down(expr: Any, values: tuple[int, ...]) -> None:
    check(expr, SIGNED, values)


S, T, U = SYMBOLS
LARGE = 3 * 10**9 + 1
HALF = sympy.Float(0.5)
FORMS = {
    functions.FloorDiv(S * (S + 1), 2) - functions.FloorDiv(-S, 3): lambda s: (
        s * (s + 1) // 2 - -s // 3
    ),
    sympy.floor(S / 2): lambda s: s // 2,
    sympy.ceiling(S / 4): lambda s: -(-s // 4),
    functions.CeilDiv(S, 4): lambda s: -(-s // 4),
    functions.CleanDiv(4 * S, 2): lambda s: 2 * s,
    functions.Mod(S, 5): lambda s: s % 5,
    functions.PythonMod(-S, T): lambda s, t: -s % t,
    functions.ModularIndexing(S, 2, 7): lambda s: s // 2 % 7,
    functions.PowByNatural(S, sympy.Integer(3)): lambda s: s**3,
    functions.Where(S > T, S, T): lambda s, t: s if s > t else t,
    functions.Identity(S + 1) * 2: lambda s: (s + 1) * 2,
    sympy.Abs(S - T, evaluate=False): lambda s, t: abs(s - t),
    functions.Max(S, T, U) * functions.Min(S, 3): lambda s, t, u: max(s, t, u) * min(s, 3),
    -(functions.FloorDiv(S, 2) ** 2): lambda s: -((s // 2) ** 2),
    functions.TruncToInt(functions.ToFloat(S) * HALF): lambda s: int(float(s) * 0.5),
    functions.TruncToInt(functions.ToFloat(S) * sympy.Float(1 / 3)): lambda s: int(s * (1 / 3)),
    functions.FloorToInt(functions.IntTrueDiv(-S, 3)): lambda s: math.floor(-s / 3),
    functions.CeilToInt(functions.IntTrueDiv(S, 3)): lambda s: math.ceil(s / 3),
    functions.RoundToInt(functions.IntTrueDiv(S, 2)): lambda s: round(s / 2),
    functions.TruncToInt(functions.FloatTrueDiv(functions.ToFloat(S), 0.3)): lambda s: int(s / 0.3),
    functions.TruncToInt(functions.OpaqueUnaryFn_sqrt(functions.ToFloat(S))): lambda s: int(
        math.sqrt(s)
    ),
    functions.BitwiseFn_bitwise_and(S, 3) + functions.LShift(S, 2): lambda s: (s & 3) + (s << 2),
}
"""Sizes in the forms that PyTorch produces, with their values."""


@pytest.mark.parametrize("expr", FORMS, ids=str)
def test_every_form_has_its_exact_value(expr: Any) -> None:
    symbols = symbols_in([expr])
    for values in ((1, 1, 1), (2, 7, 5), (7, 7, 7), (LARGE, 10, LARGE - 1), (LARGE + 1, 2, 3)):
        at = values[: len(symbols)]
        assert evaluator([expr], symbols)(at) == [FORMS[expr](*at)]


def test_an_unknown_function_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="a size of the form Piecewise"):
        evaluator([sympy.Piecewise((S, sympy.Gt(S, 3)), (3, True))], [S])


@examples()
@given(st.lists(sizes(SYMBOLS) | st.integers(-5, 5), max_size=4))
def test_symbols_are_found_in_order(found: list[Any]) -> None:
    symbols = symbols_in(found)
    assert symbols == sorted(set(symbols), key=lambda s: s.name)
    assert set(symbols) == {
        s for size in found if not isinstance(size, int) for s in size.free_symbols
    }
    evaluator(found, symbols)([1] * len(symbols))


@examples()
@given(st.text(max_size=8), st.text(max_size=8))
def test_identifiers_are_names_and_tell_names_apart(one: str, other: str) -> None:
    assert identifier("v", one).isidentifier() and identifier("v", one).isascii()
    assert (identifier("v", one) == identifier("v", other)) == (one == other)
