"""Sizes and conditions on them printed as Python, against sympy."""

from __future__ import annotations

import random

import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._sympy.functions import CleanDiv, FloorDiv, Max, Min, Mod, PythonMod

from ingot.plan.sizes import SizePrinter

SYMBOLS = sympy.symbols("n m k", integer=True, positive=True)
NAMES = {symbol: f"s{i}" for i, symbol in enumerate(SYMBOLS)}


def random_size(choose: random.Random, depth: int) -> sympy.Expr:
    if depth == 0:
        return choose.choice([*SYMBOLS, sympy.Integer(choose.randint(-3, 5))])
    a, b = random_size(choose, depth - 1), random_size(choose, depth - 1)
    by = sympy.Integer(choose.randint(1, 7))
    n, m, _ = SYMBOLS
    makers = (
        lambda: a + b, lambda: a - b, lambda: a * b, lambda: a**2,
        lambda: FloorDiv(a, by), lambda: FloorDiv(a, choose.choice(SYMBOLS)),
        lambda: CleanDiv(a * by, by), lambda: PythonMod(a, by), lambda: Mod(3 * n + m, by),
        lambda: Max(a, b), lambda: Min(a, b),
    )  # fmt: skip
    return choose.choice(makers)()


def random_condition(choose: random.Random) -> sympy.Basic:
    compare = choose.choice((sympy.Lt, sympy.Ge, sympy.Ne, sympy.Eq))
    made = compare(random_size(choose, 2), random_size(choose, 1))
    join = choose.choice((sympy.And, sympy.Or))
    made = join(made, sympy.Gt(random_size(choose, 1), random_size(choose, 1)))
    return sympy.Not(made) if choose.random() < 0.5 else made


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.tuples(*[st.integers(1, 9)] * 3))
def test_text_gives_sympys_number(choose: random.Random, values: tuple[int, int, int]) -> None:
    size = random_size(choose, choose.randint(0, 4))
    given_values = dict(zip(SYMBOLS, values))
    scope = {NAMES[symbol]: value for symbol, value in given_values.items()}
    assert eval(SizePrinter(NAMES).doprint(size), scope) == int(size.subs(given_values))


@settings(deadline=None)
@given(st.randoms(use_true_random=False), st.tuples(*[st.integers(1, 9)] * 3))
def test_condition_can_be_negated_as_text(
    choose: random.Random, values: tuple[int, int, int]
) -> None:
    condition = random_condition(choose)
    given_values = dict(zip(SYMBOLS, values))
    scope = {NAMES[symbol]: value for symbol, value in given_values.items()}
    negated = eval(f"not {SizePrinter(NAMES).doprint(condition)}", scope)
    assert negated is not bool(condition.subs(given_values))
