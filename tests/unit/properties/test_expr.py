"""Expressions against evaluation in plain Python: interning, rewriting, order, variables."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st

from ingot.fuse import index as ix
from ingot.fuse.expr import (
    Apply,
    Checked,
    Expr,
    ExprTable,
    FromIndex,
    Guarded,
    Load,
    Number,
    Reduce,
    Scan,
    all_children,
    ordered,
    rewritten,
)
from ingot.fuse.index import Gathered, Index, Var

from .drawn import examples, points, value

F64, I64 = torch.float64, torch.int64
FREE = [Var("i", 3), Var("j", 2), Var("k", 4)]
BOUND = Var("r", 3)
NEW = [Var("a", 3), Var("b", 2)]
GRAPH = torch.fx.Graph()
BUFFERS = [GRAPH.placeholder(name) for name in "xyz"]
OPS = [operator.add, operator.sub, operator.mul, max, min]


def memory(buffer: torch.fx.Node, at: int) -> int:
    return hash((buffer.name == "x", buffer.name == "y", at)) % 7 - 3


def evaluated(expr: Expr, point: Mapping[Var, int]) -> int:
    """The value of an expression by the docstrings of its classes."""
    match expr:
        case Load():
            return memory(expr.buffer, at(expr.index, point))
        case Number():
            return expr.value
        case FromIndex():
            return at(expr.index, point)
        case Apply():
            operands = (evaluated(o, point) if isinstance(o, Expr) else o for o in expr.operands)
            return expr.target(*operands)
        case Guarded():
            inside = expr.low <= at(expr.index, point) < expr.high
            return evaluated(expr.inside if inside else expr.outside, point)
        case Checked():
            found = evaluated(expr.value, point)
            return found + expr.size if expr.wraps and found < 0 else found
        case Reduce():
            inner = points(list(expr.over))
            return sum(evaluated(expr.operand, {**point, **more}) for more in inner)
        case Scan():
            var = expr.position.as_var()
            assert var is not None
            return sum(evaluated(expr.operand, {**point, var: k}) for k in range(point[var] + 1))
    raise TypeError(expr)


def at(index: Index, point: Mapping[Var, int]) -> int:
    """The value of an index; gathered atoms are values of expressions."""
    plain = Index({}, index.const)
    total = 0
    for atom, factor in index.terms.items():
        if isinstance(atom, Gathered):
            total += factor * evaluated(atom.value, point)
        else:
            plain = plain + Index({atom: factor})
    return total + value(plain, point)


@st.composite
def indexes(draw: Any, variables: list[Var]) -> Index:
    total = ix.of(draw(st.integers(-2, 4)))
    for var in draw(st.lists(st.sampled_from(variables), max_size=2)):
        total = total + ix.of(var) * draw(st.integers(-2, 3))
    kind = draw(st.sampled_from(["plain", "plain", "div", "mod"]))
    return total // 2 if kind == "div" else total % 3 if kind == "mod" else total


@st.composite
def expressions(draw: Any, table: ExprTable, variables: list[Var], depth: int = 3) -> Expr:
    index = indexes(variables)
    if depth == 0:
        kind = draw(st.sampled_from(["load", "number", "index"]))
    else:
        kinds = ["load", "apply", "apply", "guarded", "checked", "looked"]
        kinds += [] if BOUND in variables else ["reduce"]
        kinds += ["scan"] if FREE[2] in variables else []
        kind = draw(st.sampled_from(kinds))

    def below(names: list[Var] = variables) -> Expr:
        return draw(expressions(table, names, depth - 1))

    match kind:
        case "load":
            return table.make(Load, F64, draw(st.sampled_from(BUFFERS)), draw(index))
        case "number":
            return table.make(Number, F64, draw(st.integers(-2, 2)))
        case "index":
            return table.make(FromIndex, I64, draw(index))
        case "apply":
            operands = (below(), draw(st.integers(0, 3)) if draw(st.booleans()) else below())
            target = draw(st.sampled_from(OPS))
            return table.make(Apply, F64, target, ("self", "other"), operands, F64)
        case "guarded":
            low = draw(st.integers(-1, 2))
            high = low + draw(st.integers(0, 3))
            return table.make(Guarded, F64, draw(index), low, high, below(), below())
        case "checked":
            return table.make(Checked, I64, below(), 5, draw(st.booleans()), 1)
        case "looked":
            point = draw(index)
            buffer = draw(st.sampled_from(BUFFERS))
            found = table.make(Load, I64, buffer, point)
            looked = Gathered(buffer, (point,), 7, (False, 1), found)
            return table.make(Load, F64, draw(st.sampled_from(BUFFERS)), ix.of(looked) * 2 + 1)
        case "scan":
            return table.make(Scan, F64, "sum", below(), ix.of(FREE[2]))
    over = [*variables, BOUND]
    return table.make(Reduce, F64, "sum", below(over), (BOUND,), 0, None)


roots = st.builds(ExprTable).flatmap(lambda table: expressions(table, FREE))


@examples(2)
@given(roots)
def test_a_rewritten_expression_has_the_same_value(root: Expr) -> None:
    """Rewriting with the identity gives an equal graph."""
    (same,) = rewritten([root], lambda index: index)
    assert same.dtype == root.dtype and len(ordered([same])) == len(ordered([root]))
    for point in points(FREE):
        assert evaluated(same, point) == evaluated(root, point)


@examples(2)
@given(roots, st.data())
def test_substitution_is_evaluation_at_the_values(root: Expr, data: st.DataObject) -> None:
    """The scanned variable is a loop variable and is not substituted."""
    values = {
        FREE[0]: data.draw(st.sampled_from([ix.of(NEW[0]), ix.of(NEW[0]) * -1 + 2, ix.of(1)])),
        FREE[1]: data.draw(st.sampled_from([ix.of(NEW[1]), ix.of(NEW[0]) % 2, ix.ZERO])),
    }
    moved = root.substitute(values)
    assert moved.variables() <= {*NEW, FREE[2]}
    for point in points([*NEW, FREE[2]]):
        place = {var: value(i, point) for var, i in values.items()} | {FREE[2]: point[FREE[2]]}
        assert evaluated(moved, point) == evaluated(root, place)


@examples()
@given(roots)
def test_an_expression_depends_on_its_variables_alone(root: Expr) -> None:
    known = root.variables()
    assert known <= set(FREE)
    for var in set(FREE) - known:
        for point in points(FREE):
            assert evaluated(root, point) == evaluated(root, {**point, var: 0})


@examples()
@given(roots)
def test_order_has_each_once_and_operands_first(root: Expr) -> None:
    found = ordered([root, root])
    assert len(set(map(id, found))) == len(found) and found[-1] is root
    places = {id(expr): k for k, expr in enumerate(found)}
    for expr in found:
        assert all(places[id(child)] < places[id(expr)] for child in all_children(expr))


@examples()
@given(st.data())
def test_equal_expressions_of_a_table_are_one_object(data: st.DataObject) -> None:
    table = ExprTable()
    one = data.draw(expressions(table, FREE))
    done: dict[int, Expr] = {}

    def again(made: Any) -> Any:
        """Rebuild bottom-up in the same table."""
        if isinstance(made, tuple):
            return tuple(again(part) for part in made)
        if not isinstance(made, Expr):
            return made
        if id(made) not in done:
            done[id(made)] = table.make(type(made), *map(again, parts_of(made)))
        return done[id(made)]

    assert again(one) is one
    found = ordered([one])
    assert len({(type(expr), parts_of(expr)) for expr in found}) == len(found)


def parts_of(expr: Expr) -> tuple[Any, ...]:
    return tuple(getattr(expr, field.name) for field in fields(expr))


NUMBERS = [0, 0.0, -0.0, 1, 1.0, True, False, 2, -1, math.inf, -math.inf, math.nan, 1e-300]


def test_numbers_are_told_apart_by_type_and_sign() -> None:
    """0 == 0.0 == -0.0 == False in Python, but 1 / x differs."""
    table = ExprTable()
    made = [table.make(Number, F64, number) for number in NUMBERS]
    for one, other in itertools.combinations(made, 2):
        assert one is not other
    assert all(table.make(Number, F64, n) is e for n, e in zip(NUMBERS, made, strict=True))
    assert table.make(Number, torch.float32, 1) is not table.make(Number, F64, 1)
    operands = [(0.0, [1, 2]), (-0.0, [1, 2]), (0.0, [1, 2.0])]
    applied = [table.make(Apply, F64, max, ("a", "b"), o, F64) for o in operands]
    assert len(set(map(id, applied))) == len(applied)
