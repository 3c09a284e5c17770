"""Symbolic sizes as Python text, and as functions of the symbols' values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import sympy
from sympy.logic.boolalg import Boolean
from torch.utils._sympy.printers import PythonPrinter

from ingot.program.shapes import Size


class SizePrinter(PythonPrinter):
    """Sizes, and conditions on them, as Python text: torch's own printer, for any names of symbols.
    A condition is in parentheses."""

    def __init__(self, names: Mapping[sympy.Symbol, str]):
        super().__init__()
        self._names = names

    def _print_Symbol(self, expr: sympy.Symbol) -> str:
        return self._names[expr]

    def doprint(self, expr: sympy.Basic) -> str:
        text: str = super().doprint(expr)
        return f"({text})" if isinstance(expr, Boolean) else text


def identifier(stem: str, name: str) -> str:
    """A Python name for `name`, which may be anything: no text that names hold becomes code."""
    plain = name.isascii() and f"x{name}".isidentifier()
    return f"{stem}_{name}" if plain else f"{stem}x{name.encode(errors='replace').hex()}"


def symbols_in(sizes: Iterable[Size]) -> list[sympy.Symbol]:
    found: set[sympy.Symbol] = set()
    for size in sizes:
        if not isinstance(size, int):
            found |= size.free_symbols
    return sorted(found, key=lambda s: s.name)


def evaluator(
    sizes: Sequence[Size], symbols: Sequence[sympy.Symbol]
) -> Callable[[Sequence[int]], list[int]]:
    """A function from the symbols' values to those of the sizes."""
    names = {symbol: f"s{k}" for k, symbol in enumerate(symbols)}
    printer = SizePrinter(names)
    parts = [str(s) if isinstance(s, int) else f"int({printer.doprint(s)})" for s in sizes]
    unpacked = "".join(f"{name}, " for name in names.values())
    head = f"    {unpacked}= values" if names else "    pass"
    scope: dict[str, Any] = {}
    exec(f"def sizes(values):\n{head}\n    return [{', '.join(parts)}]", scope)
    return scope.pop("sizes")
