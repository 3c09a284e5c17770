"""Conditions on the sizes of a call: whether an index is in bounds, on concrete values."""

from __future__ import annotations

import operator

import pytest
import sympy
import torch

from ingot.errors import InputError
from ingot.fuse import index as ix
from ingot.fuse.accesses import Condition, conditions_of, equal
from tests.unit.tracing import trace

S = sympy.Symbol("s", integer=True, positive=True)


def some_node() -> torch.fx.Node:
    graph = torch.fx.symbolic_trace(lambda x: x + 1).graph
    return graph.find_nodes(op="call_function", target=operator.add)[0]


def test_a_condition_that_does_not_hold_is_refused() -> None:
    row = ix.of(ix.Var("i", 4)) * S + (S - 1)
    Condition(row, 4 * S, some_node()).require({S: 3})
    with pytest.raises(InputError, match="would read element 11 of a dimension of 11"):
        Condition(row, 4 * S - 1, some_node()).require({S: 3})


def test_what_reads_nothing_is_inside() -> None:
    Condition(ix.of(ix.Var("i", S - 3)) + 9, 2, some_node()).require({S: 3})


@pytest.mark.parametrize("by", [2, 3])
def test_divisions_are_followed(by: int) -> None:
    index = (ix.of(ix.Var("i", S)) + 1) // by
    Condition(index, 9 // by + 1, some_node()).require({S: 9})
    with pytest.raises(InputError):
        Condition(index, 9 // by, some_node()).require({S: 9})


def test_equal_sizes_need_no_condition() -> None:
    assert equal(S + 1, 1 + S, some_node()) == []
    (first, second) = equal(S, 4, some_node())
    first.require({S: 4})
    second.require({S: 4})
    with pytest.raises(InputError):
        second.require({S: 3})


def test_what_sizes_prove_is_not_asked() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = torch.cat([x[:, 1:], y.t()], 0).softmax(-1) + x[0, 1:]
        return z.flip(0).reshape(-1)

    program = trace(function, torch.randn(5, 7), torch.randn(6, 3), dynamic=True)
    for node in program.core().graph.nodes:
        if node.op == "call_function" and isinstance(node.meta.get("val"), torch.Tensor):
            assert conditions_of(node) == [], node
