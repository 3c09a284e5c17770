"""Symbolic sizes and conditions as text, and a parser for it.

    condition  = term of `or`, `and`, `not` over comparisons  == != < <= > >=
    expression = sums, products, `//`, `%` and `**` over integers, symbols, function(…)

`//` is torch's FloorDiv and `%` its Mod; the other functions in torch's shapes are called by name
and looked up in a table. The parser builds sympy objects from that table only. The work is bounded
by limits on the number of tokens, the depth, the width of integers, and the number of terms that a
product of sums has when expanded, since sympy expands to find common divisors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import sympy
from sympy.logic.boolalg import Boolean
from torch.utils._sympy import functions as torch_functions
from torch.utils._sympy.functions import FloorDiv, Max, Min, Mod
from torch.utils._sympy.numbers import int_oo

MOST_TOKENS = 2000
MOST_DEPTH = 50
MOST_TERMS = 1000
MOST_BITS = 64
MOST_POWER = 64

ASSUMPTIONS = ("integer", "positive", "nonnegative", "real", "finite", "extended_real")
"""Assumptions that a symbol may carry."""

_TOKEN = re.compile(
    r"\s*(?:(?P<float>\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+)|(?P<integer>\d+)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>//|\*\*|==|!=|<=|>=|[-+*/%()<>,]))"
)
_WORDS = ("and", "or", "not", "true", "false", "oo")

Build = Callable[..., Any]

_COMPARISONS: dict[str, Build] = {
    "==": sympy.Eq,
    "!=": sympy.Ne,
    "<": sympy.Lt,
    "<=": sympy.Le,
    ">": sympy.Gt,
    ">=": sympy.Ge,
}
_RELATIONS = {
    sympy.Equality: "==",
    sympy.Unequality: "!=",
    sympy.StrictLessThan: "<",
    sympy.LessThan: "<=",
    sympy.StrictGreaterThan: ">",
    sympy.GreaterThan: ">=",
}
_ARITY = {
    "ModularIndexing": 3, "Where": 3, "PythonMod": 2, "CleanDiv": 2, "CeilToInt": 1,
    "FloorToInt": 1, "CeilDiv": 2, "LShift": 2, "RShift": 2, "PowByNatural": 2, "FloatPow": 2,
    "FloatTrueDiv": 2, "IntTrueDiv": 2, "TruncToFloat": 1, "TruncToInt": 1, "RoundToInt": 1,
    "RoundDecimal": 2, "ToFloat": 1, "Identity": 1, "BitwiseFn_bitwise_and": 2,
    "BitwiseFn_bitwise_or": 2, "BitwiseFn_bitwise_xor": 2, "OpaqueUnaryFn_sqrt": 1,
    "OpaqueUnaryFn_cos": 1, "OpaqueUnaryFn_cosh": 1, "OpaqueUnaryFn_sin": 1,
    "OpaqueUnaryFn_sinh": 1, "OpaqueUnaryFn_tan": 1, "OpaqueUnaryFn_tanh": 1,
    "OpaqueUnaryFn_asin": 1, "OpaqueUnaryFn_acos": 1, "OpaqueUnaryFn_atan": 1,
    "OpaqueUnaryFn_exp": 1, "OpaqueUnaryFn_log": 1, "OpaqueUnaryFn_asinh": 1,
    "OpaqueUnaryFn_log2": 1,
}  # fmt: skip
_FUNCTIONS: dict[str, tuple[Build, int | None]] = {
    "max": (Max, None),
    "min": (Min, None),
    "abs": (sympy.Abs, 1),
    **{name: (getattr(torch_functions, name), arity) for name, arity in _ARITY.items()},
}
_NAMES = {build: name for name, (build, _) in _FUNCTIONS.items()}
_POWERS = ("PowByNatural", "FloatPow", "LShift", "RShift")
"""Functions whose result may be much larger than their arguments."""


class ExpressionError(ValueError):
    """The text of an expression is invalid."""


def expression_text(expr: Any) -> str:
    """The inverse of `parse_expression`."""
    if isinstance(expr, int | float):
        return str(expr) if expr >= 0 else f"({expr})"
    if expr in (sympy.true, sympy.false):
        return str(expr).lower()
    if expr in (int_oo, sympy.oo, -int_oo, -sympy.oo):
        return "oo" if expr.is_positive else "(-oo)"
    if expr.is_Integer:
        return expression_text(int(expr))
    if expr.is_Float:
        return expression_text(float(expr))
    if expr.is_Rational:
        return f"({expr.p}/{expr.q})"
    if expr.is_Symbol:
        return str(expr.name)
    return _compound(expr)


def _compound(expr: Any) -> str:
    parts = [expression_text(arg) for arg in expr.args]
    kind = type(expr)
    if expr.is_Add:
        summands = (p[1:-1] if arg.is_Mul else p for arg, p in zip(expr.args, parts))
        return f"({' + '.join(summands)})"
    if expr.is_Mul:
        return f"({'*'.join(parts)})"
    if expr.is_Pow:
        return f"({parts[0]}**{parts[1]})"
    if kind in (FloorDiv, Mod):
        return f"({parts[0]} {'//' if kind is FloorDiv else '%'} {parts[1]})"
    if kind in _RELATIONS:
        return f"({parts[0]} {_RELATIONS[kind]} {parts[1]})"
    if kind in (sympy.And, sympy.Or):
        return f"({(' and ' if kind is sympy.And else ' or ').join(parts)})"
    if kind is sympy.Not:
        return f"(not {parts[0]})"
    if kind in _NAMES:
        return f"{_NAMES[kind]}({', '.join(parts)})"
    raise ExpressionError(f"{kind.__name__} has no place in the size of a tensor")


@dataclass(frozen=True)
class _Term:
    expr: Any
    terms: int
    """The number of summands when products of sums are expanded."""


def parse_expression(text: str, symbols: Mapping[str, sympy.Symbol]) -> Any:
    """A sympy expression over `symbols`; raises ExpressionError."""
    try:
        return _Parser(text, symbols).parse()
    except ExpressionError:
        raise
    except (ArithmeticError, AssertionError, AttributeError, LookupError, NotImplementedError,
            RecursionError, TypeError, ValueError) as error:  # fmt: skip
        raise ExpressionError(f"sympy rejects it: {type(error).__name__}: {error}") from None


class _Parser:
    def __init__(self, text: str, symbols: Mapping[str, sympy.Symbol]):
        self._symbols = symbols
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def parse(self) -> Any:
        found = self._either()
        if self._at < len(self._tokens):
            raise ExpressionError(f"unexpected {self._peek()!r}")
        return found.expr

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self) -> tuple[str, str]:
        if self._at >= len(self._tokens):
            raise ExpressionError("unexpected end of text")
        self._at += 1
        return self._tokens[self._at - 1]

    def _accept(self, *texts: str) -> str:
        if self._peek() in texts:
            return self._take()[1]
        return ""

    def _either(self) -> _Term:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise ExpressionError("nested too deeply")
        found = self._both()
        while self._accept("or"):
            found = _logic(sympy.Or, found, self._both())
        self._depth -= 1
        return found

    def _both(self) -> _Term:
        found = self._negation()
        while self._accept("and"):
            found = _logic(sympy.And, found, self._negation())
        return found

    def _negation(self) -> _Term:
        count = bool(self._accept("not"))
        found = self._comparison()
        return _logic(sympy.Not, found) if count else found

    def _comparison(self) -> _Term:
        left = self._sum()
        if sign := self._accept(*_COMPARISONS):
            return _made(_COMPARISONS[sign], 1, left, self._sum())
        return left

    def _sum(self) -> _Term:
        found = [self._product()]
        while sign := self._accept("+", "-"):
            other = self._product()
            if sign == "-":
                other = _made(lambda a: -a, other.terms, other)
            found.append(other)
        if len(found) == 1:
            return found[0]
        return _made(sympy.Add, sum(term.terms for term in found), *found)

    def _product(self) -> _Term:
        found = [self._signed()]
        while sign := self._accept("*", "//", "%", "/"):
            if sign == "*":
                found.append(self._signed())
            elif sign == "/":
                found = [_ratio(_multiplied(found), self._signed())]
            else:
                build = FloorDiv if sign == "//" else Mod
                found = [_made(build, 1, _multiplied(found), self._signed())]
        return _multiplied(found)

    def _signed(self) -> _Term:
        count = 0
        while self._accept("-"):
            count += 1
        found = self._power()
        return _made(lambda a: -a, found.terms, found) if count % 2 else found

    def _power(self) -> _Term:
        base = self._atom()
        if not self._accept("**"):
            return base
        sign = -1 if self._accept("-") else 1
        exponent = self._atom()
        return _power(base, _made(lambda a: sign * a, 1, exponent))

    def _atom(self) -> _Term:
        kind, text = self._take()
        if kind == "integer":
            return _made(lambda: sympy.Integer(int(text)), 1)
        if kind == "float":
            return _made(lambda: sympy.Float(float(text)), 1)
        if text == "(":
            found = self._either()
            self._expect(")")
            return found
        if text in ("true", "false"):
            return _Term(sympy.true if text == "true" else sympy.false, 1)
        if text == "oo":
            return _Term(int_oo, 1)
        if kind == "name" and text not in _WORDS:
            return self._call(text) if self._peek() == "(" else self._symbol(text)
        raise ExpressionError(f"unexpected {text!r}")

    def _symbol(self, name: str) -> _Term:
        if name not in self._symbols:
            raise ExpressionError(f"unknown symbol {name!r}")
        return _Term(self._symbols[name], 1)

    def _call(self, name: str) -> _Term:
        if name not in _FUNCTIONS:
            raise ExpressionError(f"unknown function {name!r}")
        self._expect("(")
        args = [self._either()]
        while self._accept(","):
            args.append(self._either())
        self._expect(")")
        build, arity = _FUNCTIONS[name]
        if arity is not None and len(args) != arity:
            raise ExpressionError(f"{name} takes {arity} arguments, not {len(args)}")
        if name in _POWERS:
            _check_power(args[0], args[1], name)
        return _made(build, 1, *args)

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise ExpressionError(f"expected {text!r}, found {self._peek()!r}")


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or len(found) >= MOST_TOKENS:
            raise ExpressionError("too long" if match else f"unexpected {text[at]!a}")
        assert match.lastgroup is not None
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


def _made(build: Build, terms: int, *args: _Term) -> _Term:
    if terms > MOST_TERMS:
        raise ExpressionError("a product of too many sums")
    expr = build(*(arg.expr for arg in args))
    if expr.is_Rational and max(abs(expr.p), expr.q).bit_length() > MOST_BITS:
        raise ExpressionError(f"a number of more than {MOST_BITS} bits")
    if expr in (sympy.zoo, sympy.nan):
        raise ExpressionError("the value is undefined")
    return _Term(expr, terms)


def _multiplied(factors: list[_Term]) -> _Term:
    """Multiplied at once: sympy would distribute a number over the next sum, and `2*(a + b)` is the
    text only of a product that was not distributed."""
    if len(factors) == 1:
        return factors[0]
    whole = len(factors) == 2 and factors[0].expr.is_Number and factors[1].expr.is_Add
    terms = math.prod(factor.terms for factor in factors)
    return _made(partial(sympy.Mul, evaluate=not whole), terms, *factors)


def _logic(build: Build, *args: _Term) -> _Term:
    if not all(is_condition(arg.expr) for arg in args):
        raise ExpressionError("and, or and not take conditions")
    return _made(build, 1, *args)


def is_condition(expr: Any) -> bool:
    """A symbol stands for a number, though sympy accepts it as a condition as well."""
    return isinstance(expr, Boolean) and not expr.is_Symbol


def _ratio(a: _Term, b: _Term) -> _Term:
    """Only numbers have a ratio; sizes are divided with `//`."""
    if not (a.expr.is_Integer and b.expr.is_Integer and b.expr.is_positive):
        raise ExpressionError("'/' is for integers; '//' divides sizes")
    return _made(sympy.Rational, 1, a, b)


def _power(base: _Term, exponent: _Term) -> _Term:
    _check_power(base, exponent, "**")
    terms = 1
    if exponent.expr.is_Integer and base.terms > 1:
        terms = base.terms ** min(abs(int(exponent.expr)), 16)
    return _made(sympy.Pow, terms, base, exponent)


def _check_power(base: _Term, exponent: _Term, name: str) -> None:
    if exponent.expr.is_number and not abs(exponent.expr) <= MOST_POWER:
        raise ExpressionError(f"{name} by more than {MOST_POWER}")
    if base.expr.is_number and exponent.expr.is_number:
        bits = max(1, int(abs(base.expr)).bit_length()) if base.expr.is_finite else 1
        if bits * max(1, int(abs(exponent.expr))) > 64 * MOST_BITS:
            raise ExpressionError(f"{name} gives too large a number")
