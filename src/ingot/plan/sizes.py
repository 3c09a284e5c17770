"""Symbolic sizes as Python text, and as functions of the symbols' values. The text refers only to
builtins; printing a function without a text form raises UnsupportedError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import sympy
from torch.utils._sympy.functions import CleanDiv, FloorDiv, Max, Min, Mod, PythonMod

from ingot.errors import UnsupportedError
from ingot.program.shapes import Size

OPERATORS = {
    "FloorDiv": "//",
    "CleanDiv": "//",
    "Mod": "%",
    "PythonMod": "%",
    "IntTrueDiv": "/",
    "FloatTrueDiv": "/",
    "PowByNatural": "**",
    "FloatPow": "**",
    "LShift": "<<",
    "RShift": ">>",
    "BitwiseFn_bitwise_and": "&",
    "BitwiseFn_bitwise_or": "|",
    "BitwiseFn_bitwise_xor": "^",
}
FORMS = {
    "CeilDiv": "(-(-({0}) // ({1})))",
    "ModularIndexing": "((({0}) // ({1})) % ({2}))",
    "TruncToInt": "int({0})",
    "TruncToFloat": "float(int({0}))",
    "FloorToInt": "int(({0}) // 1)",
    "floor": "int(({0}) // 1)",
    "CeilToInt": "(-int(-({0}) // 1))",
    "ceiling": "(-int(-({0}) // 1))",
    "RoundToInt": "round({0})",
    "RoundDecimal": "round({0}, {1})",
    "ToFloat": "float({0})",
    "Abs": "abs({0})",
    "Identity": "({0})",
    "Where": "(({1}) if ({0}) else ({2}))",
}
UNARY = "OpaqueUnaryFn_"
"""Prefix of the names of unary functions from the module `math`."""


class SizePrinter(sympy.printing.str.StrPrinter):
    """Sizes as Python text that is executed. PyTorch's PythonPrinter does not serve: it writes the
    symbols' own names, whatever these are, refers to `torch` and `math`, and prints a function that
    it does not know, such as Where, instead of refusing it."""

    def __init__(self, names: Mapping[sympy.Symbol, str]):
        super().__init__()
        self._names = names

    def _print_Symbol(self, expr: sympy.Symbol) -> str:
        return self._names[expr]

    def _print_Function(self, expr: Any) -> str:
        name = type(expr).__name__
        args = [self._print(arg) for arg in expr.args]
        if name in OPERATORS:
            return f"({f' {OPERATORS[name]} '.join(f'({arg})' for arg in args)})"
        if name in FORMS:
            return FORMS[name].format(*args)
        if name.startswith(UNARY):
            return f"__import__('math').{name.removeprefix(UNARY)}({args[0]})"
        raise UnsupportedError(f"a size of the form {expr}")

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        return f"(({self._print(expr.base)}) ** ({self._print(expr.exp)}))"

    def _print_Float(self, expr: Any) -> str:
        return repr(float(expr))

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


_PRINTABLE = (
    sympy.Symbol, sympy.Integer, sympy.Add, sympy.Mul, FloorDiv, CleanDiv, Mod, PythonMod, Max, Min,
    sympy.Max, sympy.Min,
)  # fmt: skip


def is_printable(size: Any) -> bool:
    """Does it use only integer arithmetic, which SizePrinter prints exactly?"""
    return isinstance(size, int) or all(
        isinstance(part, _PRINTABLE) or _is_power(part) for part in sympy.preorder_traversal(size)
    )


def _is_power(part: Any) -> bool:
    return isinstance(part, sympy.Pow) and part.exp.is_Integer and bool(part.exp.is_positive)


def identifier(stem: str, name: str) -> str:
    """A Python identifier for any `name`, so that no text inside a name becomes code."""
    plain = name.isascii() and f"x{name}".isidentifier()
    return f"{stem}_{name}" if plain else f"{stem}x{name.encode(errors='replace').hex()}"


def largest(sizes: Iterable[Size]) -> Size:
    distinct = list(dict.fromkeys(sizes))
    numbers = [size for size in distinct if isinstance(size, int)]
    return max(numbers) if len(numbers) == len(distinct) else Max(*distinct)


def symbols_in(sizes: Iterable[Size]) -> list[sympy.Symbol]:
    found: set[sympy.Symbol] = set()
    for size in sizes:
        if not isinstance(size, int):
            found |= size.free_symbols
    return sorted(found, key=lambda s: s.name)


def evaluator(
    sizes: Sequence[Size | tuple[Size, Sequence[sympy.Basic]]], symbols: Sequence[sympy.Symbol]
) -> Callable[[Sequence[int]], list[int]]:
    """A function from the symbols' values to those of the sizes. A size may come with facts; if one
    of them is false, the size is 0 and not evaluated."""
    names = {symbol: f"s{k}" for k, symbol in enumerate(symbols)}
    printer = SizePrinter(names)

    def printed(size: Size | tuple[Size, Sequence[sympy.Basic]]) -> str:
        if isinstance(size, tuple):
            size, facts = size
            if facts:
                given = " and ".join(f"({printer.doprint(fact)})" for fact in facts)
                return f"({printed(size)} if {given} else 0)"
        return str(size) if isinstance(size, int) else f"int({printer.doprint(size)})"

    unpacked = "".join(f"{name}, " for name in names.values())
    head = f"    {unpacked}= values" if names else "    pass"
    scope: dict[str, Any] = {}
    exec(f"def sizes(values):\n{head}\n    return [{', '.join(map(printed, sizes))}]", scope)
    return scope.pop("sizes")
