"""The parser of call arguments and of the fields of attribute records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ingot.errors import did_you_mean
from ingot.plan.attributes import known_attributes, make_attributes
from ingot.plan.ir import (
    Affine,
    AtMost,
    Call,
    Entries,
    Function,
    Items,
    Iteration,
    Opaque,
    Quotient,
    Remainder,
    Requirement,
)
from ingot.plan.reader import Reader
from ingot.plan.values import CONSTANTS
from ingot.program.shapes import Size

_OF_TORCH = {
    str(value): value
    for value in vars(torch).values()
    if isinstance(value, torch.dtype | torch.layout | torch.memory_format)
}


class ValueReader(Reader):
    def value(self) -> Any:
        return self.nested(self._value)

    def _value(self) -> Any:
        if self.peek("%"):
            return self.ref_or_operand()
        if self.peek('"'):
            return self.string()
        if self.accept("["):
            return Items(self.several(self.value, "]"))
        if self.accept("{"):
            return Entries(self.several(self._entry, "}"))
        if self.accept("("):
            return self._tuple()
        if self.peek("@"):
            return Function(self.kernel())
        if self.accept("&"):
            return self.pointer()
        number = self.float()
        if number is not None:
            return number
        return self._word() if self.peek_word() else self.integer()

    def _tuple(self) -> tuple[Any, ...]:
        found: list[Any] = []
        comma = True
        while not self.accept(")"):
            if not comma:
                self.expect(",")
            found.append(self.value())
            comma = self.accept(",")
        if len(found) == 1 and not comma:
            self.fail("a tuple of one value ends with a comma: (1,)")
        return tuple(found)

    def _entry(self) -> tuple[Any, Any]:
        key = self.value()
        self.expect("=")
        return key, self.value()

    def _word(self) -> Any:
        start, word = self.at, self.target()
        if word in CONSTANTS:
            return CONSTANTS[word]
        if word in _OF_TORCH:
            return _OF_TORCH[word]
        if word in _READERS and self.peek("("):
            return _READERS[word](self)
        if self.peek("{"):
            return self._attributes(word, start)
        if word in self.symbols:
            return self.symbols[word]
        self.fail(f"unknown name {word[:60]!a}", start)

    def _attributes(self, name: str, start: int) -> Any:
        if name not in (known := known_attributes()):
            self.fail(f"no record {name[:60]!a}; {did_you_mean(name[:60], known)}", start)
        self.expect("{")
        pairs = self.several(self._keyword, "}")
        values = dict(pairs)
        if len(values) < len(pairs):
            self.fail("a field is given twice", start)
        try:
            return make_attributes(name, values)
        except ValueError as error:
            self.fail(str(error), start)

    def attributes(self) -> Any:
        start = self.at
        return self.line(lambda: self.nested(lambda: self._attributes(self.target(), start)))

    def _keyword(self) -> tuple[str, Any]:
        name = self.word()
        self.expect("=")
        return name, self.value()

    def call(self, result: str = "") -> Call:
        target = self.target()
        self.expect("(")
        args: list[Any] = []
        kwargs: list[tuple[str, Any]] = []
        for key, value in self.several(self._given, ")"):
            if key is not None:
                kwargs.append((key, value))
            elif kwargs:
                self.fail("a positional argument follows one with a name")
            else:
                args.append(value)
        return Call(result, target, tuple(args), tuple(kwargs))

    def _given(self) -> tuple[str | None, Any]:
        start = self.at
        if self.peek('"') or self.peek_word():
            name = self.word()
            if self.accept("="):
                return name, self.value()
            self.at = start
        return None, self.value()

    # -- requirements ------------------------------------------------------------------------------

    def requirement(self) -> Requirement:
        self.expect("0")
        self.expect("<=")
        index = self.affine()
        self.expect("<")
        size = self.size()
        self.expect_word("for")
        subject = self.string()
        return Requirement(index, size, subject, self.place() if self.peek_word() == "at" else None)

    def affine(self) -> Affine:
        return self.nested(self._affine)

    def _affine(self) -> Affine:
        constant = self.size()
        terms: list[tuple[Size, Iteration | Quotient | Remainder]] = []
        while self.accept("+"):
            factor = self.size()
            self.expect("*")
            terms.append((factor, self._term()))
        return Affine(constant, tuple(terms))

    def _term(self) -> Iteration | Quotient | Remainder:
        for name, kind in (("quotient", Quotient), ("remainder", Remainder)):
            if self.accept_word(name):
                self.expect("(")
                of = self.affine()
                self.expect(",")
                by = self.open_size()
                self.expect(")")
                return kind(of, by)
        self.expect_word("i")
        self.expect("(")
        size = self.open_size()
        self.expect(")")
        return Iteration(size)


def _complex(reader: ValueReader) -> complex:
    reader.expect("(")
    parts = []
    for part in reader.several(reader.float, ")"):
        if part is None:
            reader.fail("expected a float")
        parts.append(part)
    if len(parts) != 2:
        reader.fail("a complex number has two parts")
    return complex(*parts)


def _slice(reader: ValueReader) -> slice:
    reader.expect("(")
    parts = reader.several(reader.value, ")")
    if len(parts) != 3:
        reader.fail("a slice has three parts")
    return slice(*parts)


def _device(reader: ValueReader) -> torch.device:
    reader.expect("(")
    start, name = reader.at, reader.string()
    reader.expect(")")
    try:
        return torch.device(name)
    except (RuntimeError, ValueError):
        reader.fail(f"{name[:40]!a} is no device", start)


def _opaque(reader: ValueReader) -> Opaque:
    reader.expect("(")
    name = reader.string()
    reader.expect(")")
    return Opaque(name)


def _at_most(reader: ValueReader) -> AtMost:
    reader.expect("(")
    left = reader.side()
    reader.expect(",")
    right = reader.side()
    reader.expect(")")
    return AtMost(left, right)


_READERS: dict[str, Callable[[ValueReader], Any]] = {
    "complex": _complex,
    "slice": _slice,
    "device": _device,
    "opaque": _opaque,
    "sym": ValueReader.condition,
    "at_most": _at_most,
}
