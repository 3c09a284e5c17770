"""Names never become code: the Python that ingot generates contains names of nodes and symbols only
as identifiers.
"""

from __future__ import annotations

import pytest
import sympy
import torch
from torch import Tensor

import ingot
from ingot.options import make_options
from ingot.pipeline import compile_program
from ingot.plan.sizes import SizePrinter, evaluator, identifier

NAMES = [
    "x", "x_1", "0", "a b", "a;b", "x = 1\nimport os", "__import__('os').system('true')", "", "é",
    "\ud800", "print(1)#", "x\u2028y",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_an_identifier_whatever_the_name(name: str) -> None:
    made = identifier("v", name)
    assert made.isidentifier() and made.isascii()


def test_identifiers_are_distinct() -> None:
    assert len({identifier("v", name) for name in NAMES}) == len(NAMES)


def test_a_node_of_any_name_runs() -> None:
    """Even a graph that no file can contain."""

    def function(x: Tensor) -> Tensor:
        return torch.sort(x * 2 + 1).values.sum() + x

    program = ingot.export(function, (torch.randn(4),), level="core")
    canary: list[int] = []
    for i, node in enumerate(program.graph.nodes):
        if node.op == "call_function":
            node._name = f"x{i} = canary.append(1)\n    y"
    compiled = compile_program(program, make_options({"strict": True}))
    assert "canary" not in compiled.source
    x = torch.randn(4)
    (result,) = compiled.run([x])
    torch.testing.assert_close(result, function(x))
    assert not canary


def test_sizes_are_printed_by_names_of_the_printer() -> None:
    evil = sympy.Symbol("__import__('os')", integer=True, positive=True)
    text = SizePrinter({evil: "s0"}).doprint(evil * 2 + 1)
    assert text in ("1 + 2*s0", "2*s0 + 1")
    assert evaluator([evil * 2 + 1], [evil])([4]) == [9]
