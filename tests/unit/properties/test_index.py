"""Index arithmetic against plain integers; index maps of views against the strides of real
views."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import sympy
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from ingot.fuse import index as ix
from ingot.fuse.index import Index, Var
from ingot.fuse.views import resolve, view_rules
from ingot.program.shapes import Size, strides_of

from .drawn import divisors, examples, factorisations, factors, number, points, shapes, value

aten = torch.ops.aten
S = sympy.Symbol("s", integer=True, positive=True)
T = sympy.Symbol("t", integer=True, positive=True)
SYMBOLS = [{S: s, T: t} for s, t in ((1, 1), (1, 3), (2, 1), (2, 3), (3, 2), (4, 5))]
Meaning = Callable[[dict[Var, int], dict[sympy.Symbol, int]], int]


@dataclass
class Built:
    """An index with its expected value at every point."""

    index: Index
    meaning: Meaning
    variables: list[Var]

    def check(self, symbols: dict[sympy.Symbol, int]) -> None:
        for point in points(self.variables, symbols):
            assert value(self.index, point, symbols) == self.meaning(point, symbols)


@st.composite
def built(draw: Any, sizes: Any, numbers: Any, divided_by: Any) -> Built:
    """Sums, multiples, quotients and remainders of a few variables."""
    shape = draw(st.lists(sizes, min_size=1, max_size=3))
    variables = [Var(f"i{k}", size) for k, size in enumerate(shape)]
    position = draw(st.integers(0, len(variables) - 1))
    first = variables[position]
    index: Index = ix.of(first)
    meaning: Meaning = lambda point, symbols, var=first: point[var]  # noqa: E731
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["add", "times", "plus", "minus", "div", "mod"]))
        before = meaning
        if kind in ("plus", "minus"):
            var = draw(st.sampled_from(variables))
            factor = draw(numbers)
            sign = 1 if kind == "plus" else -1
            other = ix.of(var) * factor
            index = index + other if sign == 1 else index - other
            meaning = lambda p, s, b=before, v=var, f=factor, g=sign: (  # noqa: E731
                b(p, s) + g * number(f, s) * p[v]
            )
        elif kind == "add":
            constant = draw(numbers)
            index = index + constant
            meaning = lambda p, s, b=before, c=constant: b(p, s) + number(c, s)  # noqa: E731
        elif kind == "times":
            factor = draw(numbers)
            index = index * factor
            meaning = lambda p, s, b=before, f=factor: b(p, s) * number(f, s)  # noqa: E731
        else:
            by = draw(divided_by)
            if kind == "div":
                index = index // by
                meaning = lambda p, s, b=before, d=by: b(p, s) // number(d, s)  # noqa: E731
            else:
                index = index % by
                meaning = lambda p, s, b=before, d=by: b(p, s) % number(d, s)  # noqa: E731
    return Built(index, meaning, variables)


static = built(st.integers(0, 7), factors, divisors)
symbolic_sizes = st.sampled_from([S, T, 2 * S, S + 1, S * T, 3, 1])
symbolic = built(
    symbolic_sizes, st.sampled_from([0, 1, -1, 2, 3, S, -S, T, 2 * S, S * T]), symbolic_sizes
)


@examples(3)
@given(static)
def test_arithmetic_is_that_of_integers(case: Built) -> None:
    case.check({})


@examples(0.5)
@given(symbolic)
def test_arithmetic_with_symbols_holds_for_their_values(case: Built) -> None:
    for symbols in SYMBOLS:
        case.check(symbols)


@examples()
@given(static)
def test_bounds_hold_every_value(case: Built) -> None:
    known = ix.bounds(case.index)
    values = [value(case.index, point) for point in points(case.variables)]
    if known is not None and values:
        assert known[0] <= min(values) and max(values) <= known[1]


@examples(0.5)
@given(symbolic, symbolic_sizes)
def test_what_is_certainly_within_is_within(case: Built, size: Size) -> None:
    certain = ix.within(case.index, size)
    known = ix.bounds(case.index)
    for symbols in SYMBOLS:
        for point in points(case.variables, symbols):
            at = value(case.index, point, symbols)
            assert not certain or 0 <= at < number(size, symbols)
            if known is not None:
                assert number(known[0], symbols) <= at <= number(known[1], symbols)


@examples()
@given(static, st.permutations(range(3)))
def test_equal_indexes_are_one_key(case: Built, order: list[int]) -> None:
    """A sum has one normal form, independent of its construction."""
    terms = [ix.of(var) * (k + 2) for k, var in enumerate(case.variables)]
    one, other = case.index, ix.ZERO
    for term in terms:
        one = one + term
    for k in order:
        other = other + terms[k] if k < len(terms) else other
    other = other + case.index
    assert one == other and hash(one) == hash(other) and {one: 1}[other] == 1
    assert one - other == ix.ZERO
    assert (one != one + 1) and (one + 1 - 1 == one)


@examples()
@given(static, st.data())
def test_substitution_is_evaluation_at_the_values(case: Built, data: st.DataObject) -> None:
    inner = [Var(f"j{k}", 4) for k in range(2)]
    small = st.tuples(factors, factors, factors)
    values = {
        var: ix.of(inner[0]) * a + ix.of(inner[1]) * b + c
        for var, (a, b, c) in ((v, data.draw(small)) for v in case.variables)
    }
    moved = case.index.substitute(values)
    assert moved.variables() <= set(inner)
    for point in points(inner):
        at = {var: value(v, point) for var, v in values.items()}
        assert value(moved, point) == value(case.index, at)


@examples()
@given(static)
def test_a_coefficient_is_the_step_of_a_variable(case: Built) -> None:
    for var in case.variables:
        step = case.index.coefficient(var)
        for point in points(case.variables):
            if step is not None and point[var] + 1 < var.size:
                later = {**point, var: point[var] + 1}
                assert value(case.index, later) - value(case.index, point) == step


@examples()
@given(shapes, st.data())
def test_a_reshape_keeps_the_order_of_elements(shape: list[int], data: st.DataObject) -> None:
    target = data.draw(factorisations(math.prod(shape)))
    variables = [Var(f"i{k}", size) for k, size in enumerate(shape)]
    at = tuple(ix.ZERO if v.size == 1 else ix.of(v) for v in variables)
    found = ix.reshaped(at, shape, target)
    assert found is not None or 0 in shape
    if found is None:
        return
    assert len(found) == len(target)
    for number_of, point in enumerate(points(variables)):
        place = tuple(value(i, point) for i in found)
        assert all(0 <= i < size for i, size in zip(place, target, strict=True))
        flat = 0
        for i, size in zip(place, target, strict=True):
            flat = flat * size + i
        assert flat == number_of


DYNAMIC_RESHAPES: list[tuple[tuple[Size, ...], tuple[Size, ...]]] = [
    ((S, 6), (2, S, 3)),
    ((S, 6), (S * 2, 3)),
    ((2 * S, T), (S, 2, T)),
    ((S, T), (S * T,)),
    ((S * T,), (S, T)),
    ((S, 1, T), (1, S, T, 1)),
    ((S + 1, 4), (2 * S + 2, 2)),
    ((S, T, 4), (S * T * 2, 2)),
]


@pytest.mark.parametrize(("shape", "target"), DYNAMIC_RESHAPES, ids=str)
def test_a_reshape_of_dynamic_sizes(shape: tuple[Size, ...], target: tuple[Size, ...]) -> None:
    variables = [Var(f"i{k}", size) for k, size in enumerate(shape)]
    at = tuple(ix.ZERO if v.size == 1 else ix.of(v) for v in variables)
    found = ix.reshaped(at, shape, target)
    assert found is not None
    for symbols in SYMBOLS:
        for order, point in enumerate(points(variables, symbols)):
            flat = 0
            for i, size in zip(found, target, strict=True):
                flat = flat * number(size, symbols) + value(i, point, symbols)
            assert flat == order


# -- views -----------------------------------------------------------------------------------------


def dims(draw: Any, tensor: torch.Tensor) -> int:
    return draw(st.integers(-tensor.dim(), tensor.dim() - 1))


def drawn_view(draw: Any, x: torch.Tensor) -> tuple[Any, tuple[Any, ...]]:
    """A view op and its arguments after the tensor."""
    rank = x.dim()
    kinds = ["reshape", "alias", "unsqueeze", "flip", "repeat", "roll_flat"]
    if rank:
        kinds += ["permute", "transpose", "slice", "slice", "squeeze", "roll", "expand"]
        kinds += ["unfold"] * any(x.shape) + ["select"] * (0 not in x.shape)
    if rank >= 2:
        kinds += ["diagonal"]
    kind = draw(st.sampled_from(kinds))
    dim = dims(draw, x) if rank else 0
    match kind:
        case "reshape":
            return aten.reshape.default, (draw(factorisations(x.numel())),)
        case "unsqueeze":
            return aten.unsqueeze.default, (draw(st.integers(-rank - 1, rank)),)
        case "flip":
            flipped = st.lists(st.sampled_from(range(rank)), unique=True) if rank else st.just([])
            return aten.flip.default, (draw(flipped),)
        case "repeat":
            repeats = st.lists(st.integers(1, 3), min_size=rank, max_size=rank + 1)
            return aten.repeat.default, (draw(repeats),)
        case "roll_flat":
            return aten.roll.default, ([draw(st.integers(-9, 9))],)
        case "roll":
            return aten.roll.default, ([draw(st.integers(-9, 9))], [dim])
        case "permute":
            return aten.permute.default, (draw(st.permutations(range(rank))),)
        case "transpose":
            return aten.transpose.int, (dim, dims(draw, x))
        case "slice":
            bounds = st.none() | st.integers(-8, 8)
            return aten.slice.Tensor, (dim, draw(bounds), draw(bounds), draw(st.integers(1, 3)))
        case "squeeze":
            return aten.squeeze.dim, (dim,)
        case "expand":
            sizes = [3 if s == 1 and draw(st.booleans()) else s for s in x.shape]
            return aten.expand.default, ([*([2] * draw(st.integers(0, 1))), *sizes],)
        case "unfold":
            size = draw(st.integers(1, max(1, x.shape[dim])))
            assume(size <= x.shape[dim])
            return aten.unfold.default, (dim, size, draw(st.integers(1, 3)))
        case "select":
            return aten.select.int, (dim, draw(st.integers(-x.shape[dim], x.shape[dim] - 1)))
        case "diagonal":
            other = dims(draw, x)
            assume(other % rank != dim % rank)
            return aten.diagonal.default, (draw(st.integers(-2, 2)), dim, other)
    return aten.alias.default, ()


@st.composite
def strided_places(draw: Any) -> torch.Tensor:
    """A strided tensor whose elements are their own offsets in memory."""
    shape = draw(shapes)
    order = draw(st.permutations(range(len(shape))))
    strides, step = [0] * len(shape), 1
    for d in order:
        strides[d] = step * draw(st.integers(1, 2))
        step = strides[d] * max(1, shape[d])
    return torch.arange(step + 1).as_strided(shape, strides)


@examples(2)
@given(strided_places(), st.data())
def test_views_read_the_elements_that_torch_reads(x: torch.Tensor, data: st.DataObject) -> None:
    graph = torch.fx.Graph()
    node = base = graph.placeholder("x")
    node.meta["val"] = current = x
    for _ in range(data.draw(st.integers(1, 4))):
        target, arguments = drawn_view(data.draw, current)
        assert target in view_rules
        current = target(current, *arguments)
        assume(current.numel() <= 2000)
        node = graph.call_function(target, (node, *arguments))
        node.meta["val"] = current
    variables = [Var(f"n{k}", size) for k, size in enumerate(current.shape)]
    own = tuple(ix.ZERO if v.size == 1 else ix.of(v) for v in variables)
    found, at = resolve(node, own)
    if found is not base:  # the view has no index map
        assert x.numel() == 0 or current.numel() == 0
        return
    place = ix.linear(at, strides_of(base))
    for expected, point in zip(current.flatten().tolist(), points(variables), strict=True):
        assert value(place, point) == expected
