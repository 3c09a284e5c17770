"""Conditions on the sizes of a call: whether an index is in bounds, on concrete values."""

from __future__ import annotations

import operator

import pytest
import sympy
import torch

from ingot.errors import InputError
from ingot.fuse import index as ix
from ingot.fuse.accesses import Condition, conditions_of, equal
from ingot.plan.conditions import requirement
from ingot.plan.requirements import check, sizes_of
from tests.unit.tracing import trace

S = sympy.Symbol("s", integer=True, positive=True)


def some_node() -> torch.fx.Node:
    graph = torch.fx.symbolic_trace(lambda x: x + 1).graph
    return graph.find_nodes(op="call_function", target=operator.add)[0]


def require(condition: Condition, size: int) -> None:
    check(requirement(condition), {S: size})


def test_a_condition_that_does_not_hold_is_refused() -> None:
    row = ix.of(ix.Var("i", 4)) * S + (S - 1)
    require(Condition(row, 4 * S, some_node()), 3)
    with pytest.raises(InputError, match="would read element 11 of a dimension of 11"):
        require(Condition(row, 4 * S - 1, some_node()), 3)


def test_what_reads_nothing_is_inside() -> None:
    require(Condition(ix.of(ix.Var("i", S - 3)) + 9, 2, some_node()), 3)


@pytest.mark.parametrize("by", [2, 3])
def test_divisions_are_followed(by: int) -> None:
    index = (ix.of(ix.Var("i", S)) + 1) // by
    require(Condition(index, 9 // by + 1, some_node()), 9)
    with pytest.raises(InputError):
        require(Condition(index, 9 // by, some_node()), 9)


@pytest.mark.parametrize("by", [4, 5])
def test_remainders_of_one_period_are_followed(by: int) -> None:
    """The remainders of 5 .. 7 by 4 are 1 .. 3; by 5 they are 0 .. 2."""
    index = (ix.of(ix.Var("i", S)) + 5) % by
    require(Condition(index, 8 - by, some_node()), 3)
    with pytest.raises(InputError):
        require(Condition(index, 7 - by, some_node()), 3)


@pytest.mark.parametrize("start", [0, 2, 5])
def test_the_last_piece_of_a_concatenation_may_be_empty(start: int) -> None:
    """The end of the result must be that of the last piece, also if both are at its start."""

    def function(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y[start : start + 1] = 5
        return y

    program = trace(function, torch.randn(9, 3), dynamic=True)
    conditions = [
        requirement(condition)
        for node in program.core().graph.nodes
        if node.op == "call_function" and isinstance(node.meta.get("val"), torch.Tensor)
        for condition in conditions_of(node)
    ]
    symbols = {
        s
        for each in conditions
        for size in sizes_of(each)
        for s in getattr(size, "free_symbols", ())
    }
    for rows in range(start + 1, 12):
        for each in conditions:
            check(each, dict.fromkeys(symbols, rows))


def test_equal_sizes_need_no_condition() -> None:
    assert equal(S + 1, 1 + S, some_node()) == []
    (first, second) = equal(S, 4, some_node())
    require(first, 4)
    require(second, 4)
    for size in (0, 3, 5):
        with pytest.raises(InputError):
            require(first, size), require(second, size)


def test_two_empty_dimensions_are_equal() -> None:
    for condition in equal(S - 3, 2 * S - 6, some_node()):
        require(condition, 3)


def test_what_sizes_prove_is_not_asked() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = torch.cat([x[:, 1:], y.t()], 0).softmax(-1) + x[0, 1:]
        return z.flip(0).reshape(-1)

    program = trace(function, torch.randn(5, 7), torch.randn(6, 3), dynamic=True)
    for node in program.core().graph.nodes:
        if node.op == "call_function" and isinstance(node.meta.get("val"), torch.Tensor):
            assert conditions_of(node) == [], node
