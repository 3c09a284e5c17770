"""Strict JSON with the path of every value. Duplicate keys, NaN, numbers beyond 64 bits, deep
nesting and oversized documents are errors, as is any key or type that the reader does not expect.
Each raises a FileError that names the member and the JSON path.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, TypeVar

from ingot.errors import FileError

MOST_BYTES = 64 << 20
MOST_CONTAINERS = 2_000_000
MOST_ITEMS = 8_000_000
MOST_DEPTH = 200
MOST_TEXT = 1 << 16
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
_SHOWN = 60

T = TypeVar("T")


class Part:
    """A value of a document and its path."""

    __slots__ = ("_key", "_parent", "value")

    def __init__(self, value: Any, key: str, parent: Part | None = None):
        self.value = value
        self._key, self._parent = key, parent

    @property
    def path(self) -> str:
        before = "" if self._parent is None else self._parent.path
        return before + self._key

    def fail(self, why: str, hints: Iterable[str] = ()) -> NoReturn:
        raise FileError(f"{self.path}: {why}", hints=hints)

    def fields(self, *required: str, optional: tuple[str, ...] = ()) -> dict[str, Part]:
        """An object with these keys and no others."""
        if type(self.value) is not dict:
            self.fail(f"expected an object, found {shown(self.value)}")
        for name in required:
            if name not in self.value:
                self.fail(f"{name!r} is missing")
        for name in self.value:
            if name not in required and name not in optional:
                self.fail(f"unknown key {shown(name)}")
        return {name: Part(value, f".{name}", self) for name, value in self.value.items()}

    def entries(self) -> dict[str, Part]:
        """An object with any keys."""
        if type(self.value) is not dict:
            self.fail(f"expected an object, found {shown(self.value)}")
        return {name: Part(v, _key(name), self) for name, v in self.value.items()}

    def items(self, count: int | None = None, most: int | None = None) -> list[Part]:
        if type(self.value) is not list:
            self.fail(f"expected a list, found {shown(self.value)}")
        length = len(self.value)
        if count is not None and length != count:
            self.fail(f"expected {count} items, found {length}")
        if most is not None and length > most:
            self.fail(f"{length} items, more than {most}")
        return [Part(value, f"[{i}]", self) for i, value in enumerate(self.value)]

    def text(self, most: int = MOST_TEXT) -> str:
        if type(self.value) is not str:
            self.fail(f"expected text, found {shown(self.value)}")
        if len(self.value) > most:
            self.fail(f"{len(self.value)} characters, more than {most}")
        if not self.value.isascii() and any("\ud800" <= c <= "\udfff" for c in self.value):
            self.fail("text with half of a surrogate pair")
        return self.value

    def line(self, most: int = MOST_TEXT) -> str:
        """Text without line breaks, with which it could pass for several lines."""
        text = self.text(most)
        if len(text.splitlines()) > 1 or text.endswith(("\n", "\r")) or "\0" in text:
            self.fail("expected a single line")
        return text

    def name(self) -> str:
        """An identifier of ASCII letters, digits and underscores."""
        text = self.text()
        if _NAME.fullmatch(text) is None:
            self.fail(f"{shown(text)} is not an identifier")
        return text

    def integer(self, low: int = -(2**63), high: int = 2**63 - 1) -> int:
        if type(self.value) is not int:
            self.fail(f"expected an integer, found {shown(self.value)}")
        if not low <= self.value <= high:
            self.fail(f"{self.value} is not in {low}..{high}")
        return self.value

    def boolean(self) -> bool:
        if type(self.value) is not bool:
            self.fail(f"expected true or false, found {shown(self.value)}")
        return self.value

    def choice(self, table: Mapping[str, T], what: str) -> T:
        text = self.text()
        if text not in table:
            self.fail(f"unknown {what} {shown(text)}")
        return table[text]


def _key(name: str) -> str:
    return f".{name}" if _NAME.fullmatch(name) else f"[{shown(name)}]"


def shown(value: Any) -> str:
    """A value in a message: short, on one line, printable ASCII."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    text = ascii(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def parse(data: bytes, name: str) -> Part:
    """Parse the document in `data`; the paths of its parts begin with `name`."""
    root = Part(None, name)
    if len(data) > MOST_BYTES:
        root.fail(f"{len(data)} bytes, more than {MOST_BYTES}")
    if data.count(b"[") + data.count(b"{") > MOST_CONTAINERS or data.count(b",") > MOST_ITEMS:
        root.fail("too many values")
    try:
        value = json.loads(
            data.decode("utf-8"),
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_constant,
            object_pairs_hook=_unique,
        )
    except RecursionError:
        root.fail("nested too deeply")
    except ValueError as error:  # including JSONDecodeError and UnicodeDecodeError
        root.fail(f"not valid JSON: {error}")
    if _depth(value) > MOST_DEPTH:
        root.fail("nested too deeply")
    return Part(value, f"{name}: $")


def _integer(text: str) -> int:
    if len(text) > 20:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _float(text: str) -> float:
    value = float(text) if len(text) <= 64 else math.inf
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:_SHOWN]} is out of range")
    return value


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {shown(twice)} occurs twice")
    return made


def _depth(value: Any) -> int:
    """The depth of nesting, counted level by level, without recursion."""
    depth, level = 0, [value]
    while level and depth <= MOST_DEPTH:
        inner = [part for part in level if isinstance(part, dict | list)]
        level = [
            item for part in inner for item in (part.values() if isinstance(part, dict) else part)
        ]
        depth += 1
    return depth
