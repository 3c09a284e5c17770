"""Every type-preserving change of one field of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

import sympy
import torch

from ingot.errors import Place
from ingot.plan import ir
from ingot.program.expressions import is_condition


def corruptions(record: Any) -> Iterator[tuple[str, Any]]:
    """(field as Class.field, the record with that field changed), at any depth."""
    for field in fields(record):
        value = getattr(record, field.name)
        for changed in changes(value):
            yield f"{type(record).__name__}.{field.name}", replace(record, **{field.name: changed})
        for where, changed in inside(value):
            yield where, replace(record, **{field.name: changed})


def inside(value: Any) -> Iterator[tuple[str, Any]]:
    """Changes of records nested in a value."""
    if is_dataclass(value) and not isinstance(value, Place | ir.Attributes):
        yield from corruptions(value)
    elif isinstance(value, tuple):
        for k, each in enumerate(value):
            for where, changed in inside(each):
                yield where, (*value[:k], changed, *value[k + 1 :])


def changes(value: Any) -> Iterator[Any]:
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, value - 1)
        case float():
            yield value + 1
        case str():
            yield f"{value}_other"
        case Enum():
            kinds = list(type(value))
            yield kinds[(kinds.index(value) + 1) % len(kinds)]
        case torch.dtype():
            yield torch.int32 if value is not torch.int32 else torch.float32
        case sympy.Basic():
            yield sympy.Not(value) if is_condition(value) else value + 1
        case tuple():
            if value:
                yield value[:-1]
                yield (*value, value[-1])
            for k, each in enumerate(value):
                if not is_dataclass(each) or isinstance(each, Place):
                    yield from ((*value[:k], c, *value[k + 1 :]) for c in changes(each))
