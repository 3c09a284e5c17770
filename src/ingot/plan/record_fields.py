"""Traversal of the fields of records: a type check, and collectors of symbols and names. The fields
to visit are determined once for each class, from their declared types.

The blocks of an op are not entered: callers walk them op by op. A nested Plan has symbols and names
of its own.
"""

from __future__ import annotations

import typing
from dataclasses import dataclass, is_dataclass
from enum import Enum
from functools import cache
from typing import Any

import sympy
import torch

from ingot.errors import Place
from ingot.plan.attributes import Predicate, attributes_fault, predicate
from ingot.plan.ir import Attributes, Buffer, Opaque, Operand, Plan, Ref

_SIZES = frozenset(
    {"shape", "strides", "offset", "size", "by", "constant", "threads", "count", "stride", "left",
     "right"}
)  # fmt: skip
_BLOCKS = frozenset({"then", "otherwise", "body", "test", "ops", "launches", "bodies"})
_ATOMS = frozenset({str, int, bool, float, type(None), torch.dtype, Place, Plan})


@dataclass(frozen=True)
class _Field:
    name: str
    accepts: Predicate
    is_size: bool
    has_records: bool


@cache
def _fields(cls: type) -> tuple[_Field, ...]:
    return tuple(
        _Field(name, predicate(hint), name in _SIZES, name not in _SIZES | _BLOCKS and _deep(hint))
        for name, hint in typing.get_type_hints(cls).items()
    )


@cache
def _deep_fields(cls: type) -> tuple[str, ...]:
    """The fields that may contain symbols or records; none of a value that is no record."""
    if not is_dataclass(cls) or issubclass(cls, Place | Plan):
        return ()
    hints = typing.get_type_hints(cls).items()
    return tuple(name for name, hint in hints if name not in _BLOCKS and _deep(hint))


def _deep(hint: Any) -> bool:
    """May a value of this type contain a symbol or a record?"""
    inside = typing.get_args(hint)
    if inside:
        return any(map(_deep, inside))
    if not isinstance(hint, type):
        return hint is not ...
    return hint not in _ATOMS and not issubclass(hint, Enum)


# -- types -----------------------------------------------------------------------------------------


def type_fault(record: Any) -> str | None:
    """A message if a field, at any depth, does not match its declared type."""
    if isinstance(record, Attributes):
        return attributes_fault(record)
    kind: Any = type(record)
    for field in _fields(kind):
        value = getattr(record, field.name)
        if not field.accepts(value):
            return f"{kind.__name__}.{field.name} cannot be {value!r:.60}"
        if field.is_size and not _are_sizes(value):
            return f"{kind.__name__}.{field.name} is not a size: {value!r:.60}"
        if field.has_records and (wrong := _fault_inside(value)):
            return wrong
    if isinstance(record, Operand | Buffer) and len(record.shape) != len(record.strides):
        what = "a view with " if isinstance(record, Operand) else ""
        return f"{what}{len(record.shape)} sizes, but {len(record.strides)} strides"
    return None


def _fault_inside(value: Any) -> str | None:
    if type(value) is tuple:
        for each in value:
            if wrong := _fault_inside(each):
                return wrong
        return None
    if type(value) in _ATOMS or not is_dataclass(value) or isinstance(value, type):
        return None
    return type_fault(value)


def _are_sizes(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_are_sizes, value))
    return value is None or type(value) is int or isinstance(value, sympy.Basic)


# -- collectors ------------------------------------------------------------------------------------


def symbols_in(value: Any) -> list[sympy.Symbol]:
    """The symbols of every size in a value, at any depth."""
    found: list[sympy.Symbol] = []
    _collect_symbols(value, found)
    return found


def _collect_symbols(value: Any, found: list[sympy.Symbol]) -> None:
    kind: Any = type(value)
    if kind is tuple:
        for each in value:
            if type(each) not in _ATOMS:
                _collect_symbols(each, found)
    elif kind is sympy.Symbol:
        found.append(value)
    elif isinstance(value, sympy.Basic):
        found.extend(value.free_symbols)
    elif kind is slice:
        _collect_symbols((value.start, value.stop, value.step), found)
    else:
        for name in _deep_fields(kind):
            _collect_symbols(getattr(value, name), found)


def named_in(value: Any) -> list[Ref | Opaque]:
    """Every Ref and Opaque in a value, at any depth."""
    found: list[Ref | Opaque] = []
    _collect_names(value, found)
    return found


def _collect_names(value: Any, found: list[Ref | Opaque]) -> None:
    kind: Any = type(value)
    if kind is Ref or kind is Opaque:
        found.append(value)
    elif kind is tuple:
        for each in value:
            if type(each) not in _ATOMS:
                _collect_names(each, found)
    elif kind is slice:
        _collect_names((value.start, value.stop, value.step), found)
    else:
        for name in _deep_fields(kind):
            _collect_names(getattr(value, name), found)
