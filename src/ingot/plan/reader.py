"""Lexer and parser of the leaves of a plan's text: names, sizes, types and arguments. Text is never
evaluated. Nesting depth, the length of numbers and the total length of size expressions are
bounded. Every error is a PlanTextError that names its line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import sympy
import torch

from ingot.errors import Place, PlanTextError, did_you_mean
from ingot.plan.ir import Function, Operand, Pointer, Ref
from ingot.plan.values import NAME, TARGET, WORD, contiguous
from ingot.program.expressions import ExpressionError, is_condition, parse_expression
from ingot.program.shapes import Size
from ingot.program.text import SHORT_DTYPES

T = TypeVar("T")
Type = tuple[torch.dtype | None, tuple[Size, ...], tuple[Size, ...]]

MOST_CHARACTERS = 1 << 26
MOST_DEPTH = 60
MOST_DIGITS = 40
MOST_EXPRESSIONS = 2_000_000
"""Total characters of all distinct size expressions."""
_SHOWN = 160
"""Characters of a line that an error shows."""

_SPACE = re.compile(r"(?:\s|;[^\n]*)*")
_SOLID = frozenset('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_%@(){}[]:,=-"#')
"""Characters that are neither space nor begin a comment. Most tokens are followed by one."""
_STATIC_TYPE = re.compile(r"\w+\[[0-9, ]*\](?:\([0-9, ]*\))?")
_BUFFER = re.compile(rf"%({NAME.pattern})")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_INTEGER = re.compile(r"-?\d+")
_FLOAT = re.compile(r"-?(?:\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+|inf\b|nan\b)")
_ATOM = re.compile(r"[A-Za-z0-9_]+")
_CALLED = re.compile(r"\s*\(")
_OPEN = re.compile(r"[^,()\[\]{}\n;]*")
_INSIDE = re.compile(r"[^()\n;]*")

_DTYPES = {
    **{str(value).removeprefix("torch."): value
       for value in vars(torch).values() if isinstance(value, torch.dtype)},
    **{short: value for value, short in SHORT_DTYPES.items()},
}  # fmt: skip


class Reader:
    def __init__(self, text: str):
        self.text = text
        self.at = 0
        self.symbols: dict[str, sympy.Symbol] = {}
        self._parsed: dict[str, Any] = {}
        self._types: dict[str, Type] = {}
        self._lines: dict[str, Any] = {}
        self._characters = 0
        self._depth = 0
        self._facts = False
        if len(text) > MOST_CHARACTERS:
            self.text = ""
            self.fail(f"the text is longer than {MOST_CHARACTERS} characters")
        self.skip()

    # -- tokens ------------------------------------------------------------------------------------

    def fail(self, why: str, at: int | None = None) -> NoReturn:
        at = min(self.at if at is None else at, len(self.text))
        start = self.text.rfind("\n", 0, at) + 1
        end = self.text.find("\n", at)
        line = self.text[start : len(self.text) if end < 0 else end]
        column = at - start
        first = max(0, column - _SHOWN // 2)
        shown = line[first : first + _SHOWN].replace("\t", " ")
        number = self.text.count("\n", 0, start) + 1
        mark = " " * (column - first) + "^"
        raise PlanTextError(f"line {number}, column {column + 1}: {why}\n  {shown}\n  {mark}")

    def skip(self) -> None:
        if self.text[self.at : self.at + 1] in _SOLID:
            return
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def match(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        self.skip()
        return found[0]

    def accept(self, sign: str) -> bool:
        if not self.text.startswith(sign, self.at):
            return False
        self.at += len(sign)
        self.skip()
        return True

    def expect(self, sign: str) -> None:
        if not self.accept(sign):
            self.fail(f"expected {sign!r}")

    def peek(self, *signs: str) -> bool:
        return self.text.startswith(signs, self.at)

    def peek_word(self) -> str:
        found = WORD.match(self.text, self.at)
        return "" if found is None else found[0]

    def accept_word(self, word: str) -> bool:
        if self.peek_word() != word:
            return False
        return self.accept(word)

    def expect_word(self, word: str) -> None:
        if not self.accept_word(word):
            self.fail(f"expected {word!r}")

    def nested(self, read: Callable[[], T]) -> T:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            self.fail("nested too deeply")
        found = read()
        self._depth -= 1
        return found

    def several(self, read: Callable[[], T], end: str) -> tuple[T, ...]:
        """Comma-separated values up to and including `end`; a trailing comma is allowed."""
        found: list[T] = []
        while not self.accept(end):
            found.append(read())
            if not self.accept(","):
                self.expect(end)
                break
        return tuple(found)

    # -- names -------------------------------------------------------------------------------------

    def string(self) -> str:
        start = self.at
        found = self.match(_STRING)
        if found is None:
            self.fail("expected a string in double quotes")
        try:
            return str(json.loads(found))
        except ValueError:
            self.fail("a string that is not well formed", start)

    def _named(self, pattern: re.Pattern[str], what: str) -> str:
        if self.peek('"'):
            return self.string()
        found = self.match(pattern)
        if found is None:
            self.fail(f"expected {what}")
        return found

    def word(self) -> str:
        return self._named(WORD, "a word")

    def target(self) -> str:
        return self._named(TARGET, "the name of an op")

    def digest(self) -> str:
        self.expect("#")
        return self._named(NAME, "a digest")

    def buffer(self) -> str:
        found = _BUFFER.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
            self.skip()
            return found[1]
        if not self.accept("%"):
            self.fail("expected the name of a buffer or value: %name")
        return self._named(NAME, "a name")

    def kernel(self) -> str:
        if not self.accept("@"):
            self.fail("expected the name of a kernel: @name")
        return self._named(NAME, "a name")

    # -- numbers -----------------------------------------------------------------------------------

    def integer(self) -> int:
        start = self.at
        found = self.match(_INTEGER)
        if found is None:
            self.fail("expected an integer")
        if len(found) > MOST_DIGITS:
            self.fail("a number of too many digits", start)
        return int(found)

    def float(self) -> float | None:
        """None if the next token is not a float."""
        found = self.match(_FLOAT)
        if found is None:
            return None
        return math.nan if found.endswith("nan") else float(found)

    def size(self) -> Size:
        """An integer, a symbol, or an expression in parentheses."""
        start = self.at
        if self.peek("-"):
            return self.integer()
        self.match(_ATOM)
        if _CALLED.match(self.text, self.at) and self.text[start : self.at].strip()[:1].isalpha():
            self._skip_parentheses()
        elif self.at == start:
            if not self.peek("("):
                self.fail("expected a size")
            self._skip_parentheses()
        return self._expression(start)

    def side(self) -> Any:
        """One side of a comparison: a size, or a fact that counts as 0 or 1."""
        self._facts = True
        found = self.size()
        self._facts = False
        return found

    def open_size(self) -> Size:
        """A size that ends at a comma or bracket outside its own parentheses."""
        start = self.at
        while True:
            self.match(_OPEN)
            if not self.peek("("):
                break
            self._skip_parentheses()
        if self.at == start:
            self.fail("expected a size")
        return self._expression(start)

    def condition(self) -> Any:
        """`sym(…)` after its keyword: any expression."""
        self.expect("(")
        start = self.at
        while self.match(_INSIDE) is not None and self.peek("("):
            self._skip_parentheses()
        found = self._expression(start, number=False)
        self.expect(")")
        return found

    def _skip_parentheses(self) -> None:
        start, depth = self.at, 0
        while True:
            if self.peek("("):
                depth += 1
            elif self.peek(")"):
                depth -= 1
            else:
                self.fail("a parenthesis that is not closed", start)
            self.at += 1
            if depth == 0:
                self.skip()
                return
            found = _INSIDE.match(self.text, self.at)
            assert found is not None
            self.at = found.end()

    def _expression(self, start: int, number: bool = True) -> Any:
        text = self.text[start : self.at].strip()
        if number and _INTEGER.fullmatch(text):
            self.at = start
            return self.integer()
        if text not in self._parsed:
            self._characters += len(text)
            if self._characters > MOST_EXPRESSIONS:
                self.fail("the expressions of the plan are too long", start)
            try:
                self._parsed[text] = parse_expression(text, self.symbols)
            except ExpressionError as error:
                self.fail(f"not a size expression: {error}", start)
        found = self._parsed[text]
        if number and not self._facts and is_condition(found):
            self.fail("expected a size, not a condition", start)
        return int(found) if number and not is_condition(found) and found.is_Integer else found

    def with_symbols(self, read: Callable[[], T]) -> T:
        """Reads with an empty symbol table: each plan has symbols of its own."""
        outer = self.symbols, self._parsed, self._lines
        self.symbols, self._parsed, self._lines = {}, {}, {}
        found = read()
        self.symbols, self._parsed, self._lines = outer
        return found

    def line(self, read: Callable[[], T]) -> T:
        """Reads attributes, which mostly end the line. Equal lines are read once: the layers of a
        model repeat them."""
        start = self.at
        end = self.text.find("\n", start)
        if end < 0:
            return read()
        text = self.text[start:end]
        known: T | None = self._lines.get(text)
        if known is not None:
            self.at = end
            self.skip()
            return known
        found = read()
        if self.at >= end:
            self._lines[text] = found
        return found

    # -- types -------------------------------------------------------------------------------------

    def dtype(self) -> torch.dtype:
        start = self.at
        name = self.match(WORD) or ""
        if name not in _DTYPES:
            self.fail(f"{name[:40]!a} is no dtype; {did_you_mean(name[:40], _DTYPES)}", start)
        return _DTYPES[name]

    def type(self) -> Type:
        """Equal texts without symbols are read once."""
        start, found = self.at, _STATIC_TYPE.match(self.text, self.at)
        known = None if found is None else self._types.get(found[0])
        if found is not None and known is not None:
            self.at = found.end()
            self.skip()
            if not self.peek("("):  # strides after a space
                return known
            self.at = start
        made = self._type()
        if found is not None and self.text[start : self.at].rstrip() == found[0]:
            self._types[found[0]] = made
        return made

    def _type(self) -> Type:
        dtype = None if self.accept("?") else self.dtype()
        self.expect("[")
        shape = self.several(self.open_size, "]")
        if self.accept("("):
            return dtype, shape, self.several(self.open_size, ")")
        return dtype, shape, contiguous(shape)

    def _offset(self) -> Size:
        return self.size() if self.accept("+") else 0

    def pointer(self) -> Pointer:
        return Pointer(self.buffer(), self._offset())

    def operand(self) -> Operand:
        found = self.ref_or_operand()
        if isinstance(found, Ref):
            self.fail("expected ':' and a type")
        return found

    def ref_or_operand(self) -> Ref | Operand:
        name, start = self.buffer(), self.at
        offset = self._offset()
        if not self.accept(":"):
            if self.at > start:
                self.fail("expected ':' and a type")
            return Ref(name)
        dtype, shape, strides = self.type()
        if dtype is None:
            self.fail("a view needs a dtype", start)
        return Operand(name, offset, dtype, shape, strides)

    def argument(self) -> Any:
        if self.peek("%"):
            return self.pointer()
        return Function(self.kernel()) if self.peek("@") else self.open_size()

    # -- places ------------------------------------------------------------------------------------

    def place(self) -> Place:
        self.expect_word("at")
        file = self.string()
        self.expect(":")
        line = self.integer()
        return Place(file, line, self.string() if self.peek('"') else "")

    def step(self) -> tuple[int, int]:
        if not self.accept_word("step"):
            return (-1, -1)
        return self.step_number()

    def step_number(self) -> tuple[int, int]:
        version = self.integer()
        self.expect(":")
        return version, self.integer()
