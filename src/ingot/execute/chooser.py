"""The branch between versions of a program. Comes in: a tree of questions about sizes, with what
runs each version; goes out: one function that asks and runs. What holds: all versions take the same
inputs, and read their sizes once, before the first question; a question is then one comparison of
numbers, and no call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Body:
    """What a version runs: the text of its function without the first line, and what that text
    refers to."""

    lines: tuple[str, ...]
    scope: Mapping[str, Any]

    def own(self, line: str) -> bool:
        """Does the line refer to something of this version's?"""
        return any(word in self.scope for word in re.findall(r"\w+", line))

    def renamed(self, number: int) -> Body:
        """With names that no other version has."""

        def rename(found: re.Match[str]) -> str:
            return f"v{number}_{found[0]}" if found[0] in self.scope else found[0]

        lines = tuple(re.sub(r"\b[A-Za-z_]\w*\b", rename, line) for line in self.lines)
        return Body(lines, {f"v{number}_{name}": value for name, value in self.scope.items()})


def body_of(run: Any, source: str) -> Body:
    """Of a function that the runner wrote."""
    scope = {k: v for k, v in run.__globals__.items() if k not in ("__builtins__", "run")}
    return Body(tuple(source.splitlines()[1:]), scope)


def build_chooser(program: Program, tree: Versions, bodies: Sequence[Body]) -> tuple[Run, str]:
    """`bodies`: for each version, in the order of the tree's leaves. Also the function's text."""
    head = _common_lines(bodies)
    renamed = [body.renamed(number) for number, body in enumerate(bodies)]
    lines = _questions(tree, _printer(program, head), iter(renamed), len(head), "    ")
    source = "\n".join(["def run(inputs):", *head, *lines])
    scope: dict[str, Any] = {}
    for body in renamed:
        scope |= body.scope
    exec(compile(source, "<ingot chooser>", "exec"), scope)
    return scope["run"], source


def _common_lines(bodies: Sequence[Body]) -> list[str]:
    """What every version begins with: taking the inputs and their sizes."""
    found = []
    for lines in zip(*(body.lines for body in bodies)):
        if len(set(lines)) > 1 or any(body.own(lines[0]) for body in bodies):
            break
        found.append(lines[0])
    return found


def _questions(
    tree: Versions, printer: FactPrinter, bodies: Iterator[Body], skip: int, indent: str
) -> list[str]:
    if not isinstance(tree, Question):
        return [f"{indent}{line[4:]}" for line in next(bodies).lines[skip:]]
    return [
        f"{indent}if {printer.doprint(tree.fact)}:",
        *_questions(tree.yes, printer, bodies, skip, f"{indent}    "),
        *_questions(tree.no, printer, bodies, skip, indent),
    ]


def _printer(program: Program, head: Sequence[str]) -> FactPrinter:
    """Symbols by the names that the runner gave them."""
    names: dict[sympy.Symbol, str] = {}
    text = "\n".join(head)
    for i, node in enumerate(placeholders(program.graph)):
        value = node.meta.get("val")
        numbers = value.shape if isinstance(value, torch.Tensor) else (value,)
        for number in numbers:
            if not isinstance(number, torch.SymInt) or not number.node.expr.is_Symbol:
                continue
            symbol = number.node.expr
            own = f"in{i}" if number is value else f"size_{symbol}"
            if re.search(rf"\b{own}\b", text):
                names.setdefault(symbol, own)
    return FactPrinter(names)
