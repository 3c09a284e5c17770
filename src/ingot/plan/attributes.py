"""The registry of attribute records that plan text may name, and the type check of their fields."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from ingot.plan.ir import Attributes

A = TypeVar("A", bound=type[Attributes])

_CLASSES: dict[str, type[Attributes]] = {}
_NAMES: dict[type[Attributes], str] = {}


def register(cls: A) -> A:
    """Decorates a frozen record: `PackedWeight` is written `packed_weight{…}` in text."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
    if not is_dataclass(cls) or not issubclass(cls, Attributes):
        raise TypeError(f"{cls.__name__} is no record of attributes")
    if name in _CLASSES:
        raise ValueError(f"{name} is registered twice")
    _CLASSES[name], _NAMES[cls] = cls, name
    return cls


def attributes_name(record: Attributes) -> str:
    if type(record) not in _NAMES:
        raise TypeError(f"{type(record).__name__} is not registered with plan.text.register")
    return _NAMES[type(record)]


def known_attributes() -> list[str]:
    return sorted(_CLASSES)


def make_attributes(name: str, values: Mapping[str, Any]) -> Attributes:
    """Raises ValueError for unknown fields and for values of the wrong type."""
    cls = _CLASSES[name]
    known = {field.name for field in fields(cls)}
    if unknown := sorted(set(values) - known):
        raise ValueError(f"{name} has no field {unknown[0]!a}")
    try:
        made = cls(**values)
    except Exception as error:
        raise ValueError(f"{name}: {error}") from None
    if wrong := attributes_fault(made):
        raise ValueError(wrong)
    return made


def attributes_fault(record: Attributes) -> str | None:
    """A message if the value of a field does not match its declared type."""
    kind: Any = type(record)
    for name, hint in _hints(kind).items():
        value = getattr(record, name)
        if not matches(value, hint):
            return f"{type(record).__name__}.{name} cannot be {value!r:.60}"
        if isinstance(value, Attributes) and (inner := attributes_fault(value)):
            return inner
    return None


@cache
def _hints(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def matches(value: Any, hint: Any) -> bool:
    """Does the value match the annotated type? `Size` is Any."""
    if hint is Any:
        return True
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(matches(value, each) for each in inside)
    if origin is typing.Literal:
        return value in inside
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(inside) == 2 and inside[1] is ...:
            return all(matches(each, inside[0]) for each in value)
        return len(value) == len(inside) and all(map(matches, value, inside))
    if hint is None or hint is type(None):
        return value is None
    if hint in (int, bool):
        return type(value) is hint
    if not isinstance(hint, type):
        return True
    return isinstance(value, (int, float) if hint is float else hint)
