"""Base class of the writers of call bodies: sizes as SSA values, MLIR types and literals as text.
A BodyWriter writes one body, line by line. Each dialect's subclass adds a method for each kind of
call (`dynamic_sizes.Sized.kind`).

It shares nothing with the writer of native code (codegen/mlir/builder.py), whose values are scalars
and vectors of a machine: these bodies compute on tensors, in dialects that other compilers take.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy

from ingot.emit.dynamic_sizes import ARITHMETIC, Size, Sized


@dataclass
class BodyWriter(ABC):
    """Writes the body of one call, line by line."""

    inputs: Sequence[str]
    """Types of the arguments %a0, %a1 ..."""
    first_witness: int
    result: str
    lines: list[str] = field(default_factory=list)

    def add(self, text: str) -> str:
        """Append an operation and return the name of its result."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def size(self, size: Size, body: Sized) -> str:
        """The SSA value of a size."""
        if isinstance(size, int) or size.is_Integer:
            return self.number(int(size))
        if isinstance(size, sympy.Symbol):
            for i, witness in enumerate(body.witnesses):
                if witness.symbol == size:
                    return self.dimension(self.first_witness + i, witness.axis)
        for kind, name in ARITHMETIC:
            if isinstance(size, kind):
                return self._folded(name, size.args, body)
        if isinstance(size, sympy.Pow) and size.exp.is_Integer and size.exp > 0:
            return self._folded("mul", [size.base] * int(size.exp), body)
        raise NotImplementedError(f"cannot write the size {size}")

    def _folded(self, name: str, parts: Sequence[Any], body: Sized) -> str:
        parts = sorted(parts, key=_is_negative)
        value = self.size(parts[0], body)
        for part in parts[1:]:
            if name == "add" and _is_negative(part):
                value = self.apply("sub", value, self.size(-part, body))
            else:
                value = self.apply(name, value, self.size(part, body))
        return value

    @abstractmethod
    def number(self, value: int) -> str:
        """The SSA value of a constant size."""

    @abstractmethod
    def dimension(self, operand: int, axis: int) -> str:
        """The size of an argument along an axis."""

    @abstractmethod
    def apply(self, name: str, x: str, y: str) -> str:
        """Arithmetic on two sizes."""


def _is_negative(size: Any) -> bool:
    return bool(sympy.sympify(size).as_coeff_Mul()[0] < 0)


def split_types(types: str) -> list[str]:
    """Split at commas outside of brackets."""
    parts, depth = [""], 0
    for letter in types:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def shape_and_element(kind: str) -> tuple[list[str], str]:
    """`tensor<2x?xf32>` as (["2", "?"], "f32")."""
    *sizes, element = re.fullmatch(r"tensor<((?:(?:\d+|\?)x)*.*)>", kind)[1].split("x")  # type: ignore[index]
    return sizes, element


def literal(number: Any, element: str) -> str:
    """A scalar as an MLIR literal of this element type."""
    if element == "i1":
        return "true" if number else "false"
    if element.startswith("i"):
        return str(int(number))
    return float_literal(float(number), element)


def float_literal(number: float, element: str) -> str:
    if number in (float("inf"), float("-inf")) or number != number:
        return _SPECIAL[element][str(number)]
    return f"{number:e}" if number == float(f"{number:e}") else f"{number:.17e}"


_SPECIAL = {
    "f32": {"inf": "0x7F800000", "-inf": "0xFF800000", "nan": "0x7FC00000"},
    "f64": {
        "inf": "0x7FF0000000000000", "-inf": "0xFFF0000000000000", "nan": "0x7FF8000000000000",
    },
    "f16": {"inf": "0x7C00", "-inf": "0xFC00", "nan": "0x7E00"},
    "bf16": {"inf": "0x7F80", "-inf": "0xFF80", "nan": "0x7FC0"},
}  # fmt: skip
