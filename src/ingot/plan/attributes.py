"""The registry of attribute records that plan text may name, and the type check of their fields."""

from __future__ import annotations

import importlib
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from ingot.plan.ir import Attributes

A = TypeVar("A", bound=type[Attributes])
Predicate = Callable[[Any], bool]

_EXACT = (int, bool, str, float)
"""Types that `isinstance` does not decide: a bool is no int, an int is a float."""

_CLASSES: dict[str, type[Attributes]] = {}
_NAMES: dict[type[Attributes], str] = {}
_HOMES: dict[str, str] = {}


def declare(homes: Mapping[str, str]) -> None:
    """Name → the module that registers the record; it is imported when a text has the name."""
    _HOMES.update(homes)


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
    return sorted({*_CLASSES, *_HOMES})


def make_attributes(name: str, values: Mapping[str, Any]) -> Attributes:
    """Raises ValueError for unknown fields and for values of the wrong type."""
    if name not in _CLASSES:
        importlib.import_module(_HOMES[name])
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
    for name, accepts in _predicates(kind):
        value = getattr(record, name)
        if not accepts(value):
            return f"{kind.__name__}.{name} cannot be {value!r:.60}"
        if isinstance(value, Attributes) and (inner := attributes_fault(value)):
            return inner
    return None


@cache
def _predicates(cls: Any) -> tuple[tuple[str, Predicate], ...]:
    return tuple((name, predicate(hint)) for name, hint in typing.get_type_hints(cls).items())


@cache
def predicate(hint: Any) -> Predicate:
    """Tells whether a value matches the annotated type. `Size` is Any."""
    if hint is Any:
        return _anything
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _union(inside)
    if origin is typing.Literal:
        return lambda value: value in inside
    if origin is tuple:
        return _tuple(inside)
    if hint is None or hint is type(None):
        return lambda value: value is None
    if hint in (int, bool, str):
        return lambda value: type(value) is hint
    if not isinstance(hint, type):
        return _anything
    accepted = (int, float) if hint is float else hint
    return lambda value: isinstance(value, accepted)


def _anything(value: Any) -> bool:
    return True


def _union(inside: tuple[Any, ...]) -> Predicate:
    if Any in inside:
        return _anything
    classes = tuple(each for each in inside if isinstance(each, type) and each not in _EXACT)
    others = [predicate(each) for each in inside if each not in classes]
    return lambda value: isinstance(value, classes) or any(accepts(value) for accepts in others)


def _tuple(inside: tuple[Any, ...]) -> Predicate:
    if len(inside) == 2 and inside[1] is ...:
        accepts = predicate(inside[0])
        if accepts is _anything:
            return lambda value: isinstance(value, tuple)
        return lambda value: isinstance(value, tuple) and all(map(accepts, value))
    each = tuple(map(predicate, inside))
    return lambda value: (
        isinstance(value, tuple)
        and len(value) == len(each)
        and all(accepts(item) for accepts, item in zip(each, value, strict=True))
    )
