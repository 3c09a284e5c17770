"""Text of names, types, sizes and arguments: the leaves of a plan's text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

import sympy
import torch

from ingot.errors import Place
from ingot.plan.attributes import attributes_name
from ingot.plan.ir import (
    Affine,
    AtMost,
    Attributes,
    Call,
    Entries,
    Function,
    Items,
    Iteration,
    Opaque,
    Operand,
    Pointer,
    Quotient,
    Ref,
    Remainder,
    Requirement,
    Step,
)
from ingot.program.expressions import expression_text
from ingot.program.shapes import Size
from ingot.program.text import SHORT_DTYPES

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.]*")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
TARGET = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")

OP_WORDS = frozenset(
    {"launch", "parallel", "if", "loop", "segment", "control", "define", "allocate", "fold",
     "check", "free", "require", "return"}
)  # fmt: skip
DECLARATIONS = frozenset(
    {"symbol", "kernel", "recipe", "input", "constant", "packed", "folded", "arena", "result",
     "eager", "cursor", "object"}
)  # fmt: skip
NOTES = frozenset(
    {"at", "attributes", "body", "carry", "computes", "count", "covers", "else", "fault", "impure",
     "live", "of", "packing", "plan", "requires", "results", "slice", "step", "test", "threads",
     "while", "writes"}
)  # fmt: skip
KEYWORDS = OP_WORDS | DECLARATIONS | NOTES
NOTHING = "nothing"
"""Stands for an empty list."""
CONSTANTS: dict[str, Any] = {
    "None": None, "True": True, "False": False, "inf": math.inf, "nan": math.nan
}  # fmt: skip


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _plain_or_quoted(text: str, pattern: re.Pattern[str]) -> str:
    return text if pattern.fullmatch(text) else quoted(text)


def buffer_name(name: str) -> str:
    return f"%{_plain_or_quoted(name, NAME)}"


def kernel_name(name: str) -> str:
    return f"@{_plain_or_quoted(name, NAME)}"


def word(text: str) -> str:
    return _plain_or_quoted(text, WORD)


def target_name(text: str) -> str:
    return quoted(text) if text in KEYWORDS else _plain_or_quoted(text, TARGET)


# -- types and sizes -------------------------------------------------------------------------------


def dtype_name(dtype: torch.dtype) -> str:
    return SHORT_DTYPES.get(dtype, str(dtype).removeprefix("torch."))


def size_text(size: Size) -> str:
    """An expression with operators is parenthesised."""
    return str(int(size)) if isinstance(size, int) else expression_text(size)


def open_size_text(size: Size) -> str:
    """Without the outer parentheses, for contexts that end at a comma or bracket."""
    text = size_text(size)
    return text[1:-1] if text.startswith("(") else text


def contiguous(shape: Sequence[Size]) -> tuple[Size, ...]:
    found: list[Size] = []
    expected: Size = 1
    for size in reversed(shape):
        found.append(expected)
        expected = expected * (1 if isinstance(size, int) and size == 0 else size)
    return tuple(reversed(found))


def type_text(dtype: torch.dtype | None, shape: tuple[Size, ...], strides: tuple[Size, ...]) -> str:
    """`f32[s0, 64]`, followed by strides if it is not contiguous."""
    text = f"{'?' if dtype is None else dtype_name(dtype)}[{', '.join(map(open_size_text, shape))}]"
    if strides == contiguous(shape):
        return text
    return f"{text}({', '.join(map(open_size_text, strides))})"


def pointer_text(pointer: Pointer) -> str:
    return buffer_name(pointer.buffer) + _offset(pointer.offset)


def operand_text(operand: Operand) -> str:
    kind = type_text(operand.dtype, operand.shape, operand.strides)
    return f"{buffer_name(operand.buffer)}{_offset(operand.offset)}:{kind}"


def _offset(offset: Size) -> str:
    return "" if isinstance(offset, int) and offset == 0 else f"+{size_text(offset)}"


# -- arguments -------------------------------------------------------------------------------------


def argument_text(value: Any) -> str:
    """A launch argument: an address or a number."""
    if isinstance(value, Pointer):
        return pointer_text(value)
    return kernel_name(value.kernel) if isinstance(value, Function) else open_size_text(value)


def value_text(value: Any) -> str:
    """A value in a call, check, result or attribute record."""
    if isinstance(value, sympy.Basic):
        return _symbolic(value)
    match value:
        case None | bool() | int() | float():
            return repr(value)
        case str():
            return quoted(value)
        case complex():
            return f"complex({value.real!r}, {value.imag!r})"
        case tuple():
            return f"({_values(value)}{',' if len(value) == 1 else ''})"
        case slice():
            return f"slice({_values((value.start, value.stop, value.step))})"
        case torch.dtype() | torch.layout() | torch.memory_format():
            return str(value)
        case torch.device():
            return f"device({quoted(str(value))})"
    return _record(value)


def _values(values: Iterable[Any]) -> str:
    return ", ".join(map(value_text, values))


def _symbolic(value: sympy.Basic) -> str:
    if value.is_Integer:
        return str(int(value))
    if value.is_Symbol and value.name not in CONSTANTS:
        return str(value.name)
    return symbolic_text(value)


def symbolic_text(value: sympy.Basic) -> str:
    return f"sym({open_size_text(value)})"


def names_text(names: Iterable[str]) -> str:
    return ", ".join(map(buffer_name, names)) or NOTHING


def _record(value: Any) -> str:
    match value:
        case Ref():
            return buffer_name(value.name)
        case Operand():
            return operand_text(value)
        case Pointer():
            return f"&{pointer_text(value)}"
        case Function():
            return kernel_name(value.kernel)
        case Opaque():
            return f"opaque({quoted(value.name)})"
        case Items():
            return f"[{_values(value.values)}]"
        case Entries():
            inner = (f"{value_text(key)} = {value_text(each)}" for key, each in value.pairs)
            return f"{{{', '.join(inner)}}}"
        case AtMost():
            return f"at_most({size_text(value.left)}, {size_text(value.right)})"
        case Attributes():
            return attributes_text(value)
    raise TypeError(f"a {type(value).__name__} cannot appear in a plan: {value!r:.80}")


def attributes_text(record: Attributes) -> str:
    inner = (f"{field.name}={value_text(getattr(record, field.name))}" for field in fields(record))
    return f"{attributes_name(record)}{{{', '.join(inner)}}}"


def call_text(call: Call) -> str:
    given = [value_text(each) for each in call.args]
    given += [f"{word(key)}={value_text(each)}" for key, each in call.kwargs]
    text = f"{target_name(call.target)}({', '.join(given)})"
    return f"{buffer_name(call.result)} = {text}" if call.result else text


# -- notes -----------------------------------------------------------------------------------------


def step_text(step: Step) -> str:
    return "" if step == (-1, -1) else f" step {step[0]}:{step[1]}"


def place_text(place: Place) -> str:
    text = f"at {quoted(place.file)}:{place.line}"
    return f"{text} {quoted(place.code)}" if place.code else text


def requirement_text(requirement: Requirement) -> str:
    text = f"requires 0 <= {affine_text(requirement.index)} < {size_text(requirement.size)}"
    text += f" for {quoted(requirement.subject)}"
    return text if requirement.place is None else f"{text} {place_text(requirement.place)}"


def affine_text(index: Affine) -> str:
    """`constant + factor * term + …`"""
    terms = (f"{size_text(factor)} * {_term(term)}" for factor, term in index.terms)
    return " + ".join([size_text(index.constant), *terms])


def _term(term: Iteration | Quotient | Remainder) -> str:
    if isinstance(term, Iteration):
        return f"i({open_size_text(term.size)})"
    kind = "quotient" if isinstance(term, Quotient) else "remainder"
    return f"{kind}({affine_text(term.of)}, {open_size_text(term.by)})"
