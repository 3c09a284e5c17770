"""The native branch between versions of a program. Comes in: a tree of questions about sizes, with
what runs each version; goes out: one function that asks and runs. What holds: a question is one
comparison of numbers; the inputs are passed on as they came.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy
import torch

from ingot.passes.versions import Question, Versions
from ingot.plan.sizes import SizePrinter
from ingot.program.graph import placeholders
from ingot.program.program import Program

Run = Callable[[list[Any]], Sequence[Any]]


class FactPrinter(SizePrinter):
    """Facts about sizes as Python text."""

    def _print_Equality(self, expr: Any) -> str:
        return f"({self._print(expr.lhs)}) == ({self._print(expr.rhs)})"

    def _print_Unequality(self, expr: Any) -> str:
        return f"({self._print(expr.lhs)}) != ({self._print(expr.rhs)})"

    def _print_And(self, expr: Any) -> str:
        return " and ".join(f"({self._print(part)})" for part in expr.args)

    def _print_Or(self, expr: Any) -> str:
        return " or ".join(f"({self._print(part)})" for part in expr.args)

    def _print_Not(self, expr: Any) -> str:
        return f"not ({self._print(expr.args[0])})"


def build_chooser(program: Program, tree: Versions, runs: Sequence[Run]) -> tuple[Run, str]:
    """`runs`: for each version, in the order of the tree's leaves. Also the function's text."""
    facts = list(_facts(tree))
    symbols = sorted({s for fact in facts for s in fact.free_symbols}, key=lambda s: s.name)
    where = _places(program)
    lines = [f"    {symbol.name} = {where[symbol]}" for symbol in symbols]
    printer = FactPrinter({symbol: symbol.name for symbol in symbols})
    numbers = iter(range(len(runs)))
    lines += _questions(tree, printer, numbers, 1)
    source = "\n".join(["def run(inputs):", *lines])
    scope: dict[str, Any] = {f"version{i}": run for i, run in enumerate(runs)}
    exec(compile(source, "<ingot chooser>", "exec"), scope)
    return scope["run"], source


def _facts(tree: Versions) -> list[Any]:
    if isinstance(tree, Program):
        return []
    return [tree.fact, *_facts(tree.yes), *_facts(tree.no)]


def _questions(tree: Versions, printer: FactPrinter, numbers: Any, depth: int) -> list[str]:
    indent = "    " * depth
    if not isinstance(tree, Question):
        return [f"{indent}return version{next(numbers)}(inputs)"]
    return [
        f"{indent}if {printer.doprint(tree.fact)}:",
        *_questions(tree.yes, printer, numbers, depth + 1),
        *_questions(tree.no, printer, numbers, depth),
    ]


def _places(program: Program) -> Mapping[sympy.Symbol, str]:
    """Where the value of a symbol is found among the inputs."""
    found: dict[sympy.Symbol, str] = {}
    for i, node in enumerate(placeholders(program.graph)):
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt) and value.node.expr.is_Symbol:
            found[value.node.expr] = f"inputs[{i}]"
        elif isinstance(value, torch.Tensor):
            for k, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                    found.setdefault(size.node.expr, f"inputs[{i}].size({k})")
    return found
