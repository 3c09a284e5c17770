"""Solved reads, checked by evaluation at every point of the domain."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ingot.fuse import index as ix
from ingot.fuse.index import Index, Var
from ingot.fuse.solve import solve

from .drawn import divisors, examples, factorisations, factors, points, value

shapes = st.lists(st.sampled_from([1, 2, 2, 3, 4, 6]), min_size=1, max_size=3)


def indexes(variables: list[Var]) -> tuple[Index, ...]:
    return tuple(ix.ZERO if v.size == 1 else ix.of(v) for v in variables)


def named(stem: str, shape: list[int]) -> list[Var]:
    return [Var(f"{stem}{k}", size) for k, size in enumerate(shape)]


@st.composite
def affine(draw: Any, variables: list[Var]) -> Index:
    """A sum over some of the variables, possibly divided."""
    total = ix.of(draw(st.integers(0, 3)))
    for var in draw(st.lists(st.sampled_from(variables), unique=True)):
        total = total + ix.of(var) * draw(factors)
    kind = draw(st.sampled_from(["plain", "plain", "div", "mod"]))
    by = draw(divisors)
    return total // by if kind == "div" else total % by if kind == "mod" else total


@st.composite
def reads(draw: Any, variables: list[Var]) -> tuple[Index, ...]:
    """The read of a node: a reshaped permutation, as the rules produce, or arbitrary."""
    if draw(st.booleans()):
        turned = draw(st.permutations(variables))
        shape = [v.size for v in turned]
        found = ix.reshaped(indexes(turned), shape, draw(factorisations(math.prod(shape))))
        assert found is not None
        return found
    return tuple(draw(st.lists(affine(variables), min_size=1, max_size=3)))


@examples(5)
@given(st.data())
def test_a_solution_reads_the_target(data: st.DataObject) -> None:
    variables = named("n", data.draw(shapes))
    domain = named("d", data.draw(shapes))
    read = data.draw(reads(variables))
    if data.draw(st.booleans()):  # the same read over other variables, which mostly has a solution
        other = dict(zip(variables, named("d", [v.size for v in variables]), strict=True))
        domain = list(other.values())
        target = tuple(i.substitute({a: ix.of(b) for a, b in other.items()}) for i in read)
    else:
        target = tuple(data.draw(affine(domain)) for _ in read)
    values = solve(variables, read, target, domain)
    if values is None:
        return
    assert values.keys() == set(variables)
    for point in points(domain):
        at = {var: value(index, point) for var, index in values.items()}
        assert all(0 <= at[var] < var.size for var in variables)
        for component, wanted in zip(read, target, strict=True):
            assert value(component, at) == value(wanted, point)


@examples()
@given(shapes, st.data())
def test_permutations_are_solved(shape: list[int], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(shape))))
    variables, domain = named("n", shape), named("d", shape)
    read = tuple(indexes(variables)[k] for k in order)
    target = tuple(indexes(domain)[k] for k in order)
    assert solve(variables, read, target, domain) == dict(
        zip(variables, indexes(domain), strict=True)
    )


@examples()
@given(st.data())
def test_what_joins_dimensions_is_solved(data: st.DataObject) -> None:
    """A read that splits one variable: its digits are variables of the domain."""
    shape = data.draw(shapes)
    flat, domain = Var("n", math.prod(shape)), named("d", shape)
    read = ix.reshaped((ix.of(flat) if flat.size > 1 else ix.ZERO,), (flat.size,), shape)
    assert read is not None
    values = solve([flat], read, indexes(domain), domain)
    assert values is not None
    for order, point in enumerate(points(domain)):
        assert value(values[flat], point) == order


@examples()
@given(shapes, st.data())
def test_broadcasts_take_the_free_variables_in_order(shape: list[int], data: st.DataObject) -> None:
    variables, domain = named("n", shape), named("d", shape)
    kept = [data.draw(st.booleans()) for _ in shape]
    read = tuple(i for i, keep in zip(indexes(variables), kept, strict=True) if keep)
    target = tuple(i for i, keep in zip(indexes(domain), kept, strict=True) if keep)
    values = solve(variables, read, target, [v for v in domain if v.size != 1])
    assert values == dict(zip(variables, indexes(domain), strict=True))
    assert solve([*variables, Var("more", 2)], read, target, domain[:0]) is None
