"""Conditions on the sizes of a call, against all elements that would be read."""

from __future__ import annotations

import operator
from typing import Any

import sympy
import torch
from hypothesis import given
from hypothesis import strategies as st

from ingot.errors import InputError
from ingot.fuse import index as ix
from ingot.fuse.accesses import Condition
from ingot.fuse.index import Index, Var
from ingot.plan.conditions import requirement
from ingot.plan.requirements import check, sizes_of
from ingot.program.shapes import Size

from .drawn import examples, factors, number, points, value

S = sympy.Symbol("s", integer=True, positive=True)
T = sympy.Symbol("t", integer=True, positive=True)
NODE = torch.fx.symbolic_trace(lambda x: x + 1).graph.find_nodes(
    op="call_function", target=operator.add
)[0]

sizes = st.sampled_from([S, T, S - 3, 2 * S, S + T, 3, 1, 0])
steps = st.sampled_from([1, -1, 2, -2, 3, S, -S, T])
divisors = st.sampled_from([1, 2, 3, 5, T, S, 2 * T])


@st.composite
def linear(draw: Any, rank: int = 2) -> tuple[Index, list[Var]]:
    variables = [Var(f"i{k}", draw(sizes)) for k in range(draw(st.integers(1, rank)))]
    index = ix.of(draw(factors | st.sampled_from([S - 1, T, -S])))
    for var in variables:
        index = index + ix.of(var) * draw(steps)
    return index, variables


def read(index: Index, variables: list[Var], values: dict[sympy.Symbol, int]) -> list[int]:
    return [value(index, point, values) for point in points(variables, values)]


def holds(index: Index, size: Size, values: dict[sympy.Symbol, int]) -> bool:
    try:
        check(requirement(Condition(index, size, NODE)), values)
    except InputError:
        return False
    return True


calls = st.fixed_dictionaries({S: st.integers(1, 7), T: st.integers(1, 5)})


@examples(3)
@given(linear(), sizes, calls)
def test_a_sum_is_inside_exactly_where_all_it_reads_is(
    case: tuple[Index, list[Var]], size: Size, values: dict[sympy.Symbol, int]
) -> None:
    index, variables = case
    inside = all(0 <= at < number(size, values) for at in read(index, variables, values))
    assert holds(index, size, values) == inside


@examples(2)
@given(linear(), divisors, sizes, calls)
def test_a_quotient_is_inside_exactly_where_all_it_reads_is(
    case: tuple[Index, list[Var]], by: Size, size: Size, values: dict[sympy.Symbol, int]
) -> None:
    """A quotient of an index with one atom: floor is monotonic."""
    index, variables = case
    index = Index({ix.Div(index, by): 1}) if by != 1 else index
    inside = all(0 <= at < number(size, values) for at in read(index, variables, values))
    assert holds(index, size, values) == inside


@examples(2)
@given(sizes, factors, divisors, sizes, calls)
def test_a_remainder_of_a_variable_is_inside_exactly_where_all_it_reads_is(
    length: Size, start: int, by: Size, size: Size, values: dict[sympy.Symbol, int]
) -> None:
    var = Var("i", length)
    index = Index({ix.Mod(ix.of(var) + start, by): 1})
    inside = all(0 <= at < number(size, values) for at in read(index, [var], values))
    assert holds(index, size, values) == inside


@examples(3)
@given(linear(), linear(), divisors, divisors, sizes, calls)
def test_what_is_outside_is_refused(
    one: tuple[Index, list[Var]],
    other: tuple[Index, list[Var]],
    first: Size,
    second: Size,
    size: Size,
    values: dict[sympy.Symbol, int],
) -> None:
    """For any index: if the condition holds, no element is out of bounds."""
    renamed = {var: ix.of(Var(f"j{k}", var.size)) for k, var in enumerate(other[1])}
    index = one[0] // first + other[0].substitute(renamed) % second
    variables = [*one[1], *(var for i in renamed.values() for var in i.variables())]
    if holds(index, size, values):
        assert all(0 <= at < number(size, values) for at in read(index, variables, values))


@examples()
@given(linear(), divisors, sizes)
def test_symbols_are_those_that_the_condition_depends_on(
    case: tuple[Index, list[Var]], by: Size, size: Size
) -> None:
    required = requirement(Condition(case[0] % by, size, NODE))
    found = set().union(*(sympy.sympify(each).free_symbols for each in sizes_of(required)))
    assert found <= {S, T}
    missing = {symbol: 2 for symbol in (S, T) if symbol in found}
    holds(case[0] % by, size, missing)
