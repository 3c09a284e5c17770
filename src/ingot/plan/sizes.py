"""Symbolic sizes as Python text, and as functions of the symbols' values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import sympy

from ingot.fuse.index import Size


class SizePrinter(sympy.printing.str.StrPrinter):
    """Sizes as Python text, which needs nothing but the builtins. What has no text here raises when
    it is printed, not when the text runs."""

    def __init__(self, names: Mapping[sympy.Symbol, str]):
        super().__init__()
        self._names = names

    def _print_Symbol(self, expr: sympy.Symbol) -> str:
        return self._names[expr]

    def _print_Function(self, expr: Any) -> str:
        name = type(expr).__name__
        parts = [self._print(arg) for arg in expr.args]
        if name in _TEXTS:
            return _TEXTS[name].format(*(f"({part})" for part in parts))
        if name.startswith(_UNARY):
            return f"{_MATH}.{name.removeprefix(_UNARY)}({parts[0]})"
        raise NotImplementedError(f"no Python text for {name} in a size")

    def _print_Relational(self, expr: Any) -> str:
        return f"(({self._print(expr.lhs)}) {expr.rel_op} ({self._print(expr.rhs)}))"

    def _print_Not(self, expr: Any) -> str:
        return f"(not {self._print(expr.args[0])})"

    def _print_And(self, expr: Any) -> str:
        return f"({' and '.join(self._print(a) for a in expr.args)})"

    def _print_Or(self, expr: Any) -> str:
        return f"({' or '.join(self._print(a) for a in expr.args)})"

    def _print_Max(self, expr: Any) -> str:
        return f"max({', '.join(self._print(a) for a in expr.args)})"

    def _print_Min(self, expr: Any) -> str:
        return f"min({', '.join(self._print(a) for a in expr.args)})"

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        return f"(({self._print(expr.base)}) ** ({self._print(expr.exp)}))"

    def _print_Float(self, expr: Any) -> str:
        return repr(float(expr))

    def _print_IntInfinity(self, expr: Any) -> str:
        return f"{_MATH}.inf"

    def _print_NegativeIntInfinity(self, expr: Any) -> str:
        return f"(-{_MATH}.inf)"

    _print_Infinity = _print_IntInfinity
    _print_NegativeInfinity = _print_NegativeIntInfinity

    def emptyPrinter(self, expr: Any) -> str:
        raise NotImplementedError(f"no Python text for {type(expr).__name__} in a size")


_MATH = "__import__('math')"
"""In reach of any text, whatever its scope."""
_UNARY = "OpaqueUnaryFn_"
_TEXTS = {
    "FloorDiv": "({} // {})",
    "CleanDiv": "({} // {})",
    "CeilDiv": "(-(-{} // {}))",
    "Mod": "({} % {})",
    "PythonMod": "({} % {})",
    "ModularIndexing": "(({} // {}) % {})",
    "Where": "({1} if {0} else {2})",
    "LShift": "({} << {})",
    "RShift": "({} >> {})",
    "PowByNatural": "({} ** {})",
    "FloatPow": "(float{} ** {})",
    "FloatTrueDiv": "({} / {})",
    "IntTrueDiv": "({} / {})",
    "ToFloat": "float{}",
    "TruncToInt": "int{}",
    "TruncToFloat": "float(int{})",
    "FloorToInt": "int({} // 1)",
    "CeilToInt": "(-int(-{} // 1))",
    "RoundToInt": "round{}",
    "RoundDecimal": "round({}, {})",
    "Identity": "{}",
    "BitwiseFn_bitwise_and": "({} & {})",
    "BitwiseFn_bitwise_or": "({} | {})",
    "BitwiseFn_bitwise_xor": "({} ^ {})",
    "Abs": "abs{}",
    "floor": "int({} // 1)",
    "ceiling": "(-int(-{} // 1))",
}
"""The functions that sizes are made of, with a place for each argument in parentheses."""


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
