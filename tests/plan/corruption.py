"""Changes of one field of a plan. Each keeps the type of the field, as far as verification is
concerned with values: another number, name, dtype or kind, a list that is shorter, longer or
reversed, a record that is left out, and one where there is none."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from typing import Any

import sympy
import torch

from ingot.errors import Place
from ingot.plan import ir
from ingot.program.expressions import is_condition

ABSENT: dict[str, Any] = {
    "Buffer.dtype": torch.float32, "Buffer.alias": "x", "Buffer.lifetime": (0, 0),
    "Buffer.offset": 0, "Parameter.dtype": torch.float32, "Loop.count": 1,
    "Loop.flag": ir.Pointer("x"), "EagerControlFlow.predicate": True, "Symbol.upper": 9,
}  # fmt: skip
"""Values for fields that are None."""
SETS = frozenset({
    "Plan.buffers", "Plan.kernels", "Plan.recipes", "Plan.symbols", "Symbol.assumptions",
    "Launch.covers", "Launch.faults", "Call.kwargs", "Computation.inputs", "Computation.outputs",
    "Affine.terms", "Loop.carried", "Loop.sliced", "Carried.memory", "Entries.pairs",
    "Segment.requires", "Free.buffers",
})  # fmt: skip
"""Lists whose order means nothing; those of another order are not tried."""


def corruptions(record: Any) -> Iterator[tuple[str, Any]]:
    """(field as Class.field, the record with that field changed), at any depth."""
    for field in fields(record):
        value = getattr(record, field.name)
        where = f"{_owner(record)}.{field.name}"
        for changed in (*changes(value, where), *_presence(record, field.name, where)):
            yield where, replace(record, **{field.name: changed})
        for deeper, changed in inside(value):
            yield deeper, replace(record, **{field.name: changed})


def _owner(record: Any) -> str:
    """Fields of all attributes are alike to the verifier."""
    return "Attributes" if isinstance(record, ir.Attributes) else type(record).__name__


def _presence(record: Any, name: str, where: str) -> Iterator[Any]:
    value = getattr(record, name)
    if value is None:
        if where in ABSENT:
            yield ABSENT[where]
        return
    kind: Any = type(record)
    if type(None) in typing.get_args(_hints(kind)[name]):
        yield None


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def inside(value: Any) -> Iterator[tuple[str, Any]]:
    """Changes of records nested in a value."""
    if is_dataclass(value) and not isinstance(value, Place):
        yield from corruptions(value)
    elif isinstance(value, tuple):
        for k, each in enumerate(value):
            for where, changed in inside(each):
                yield where, (*value[:k], changed, *value[k + 1 :])


def changes(value: Any, where: str = "") -> Iterator[Any]:
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
        case Place():
            yield replace(value, line=value.line + 1)
        case _ if is_dataclass(value):
            yield ir.Ref("other")
        case tuple():
            yield from _lists(value, where)


def _lists(value: tuple[Any, ...], where: str) -> Iterator[tuple[Any, ...]]:
    if value:
        yield value[:-1]
        yield (*value, value[-1])
    if len(value) > 1 and value[0] != value[1] and where not in SETS:
        yield (value[1], value[0], *value[2:])
    for k, each in enumerate(value):
        if not is_dataclass(each) or isinstance(each, Place):
            yield from ((*value[:k], c, *value[k + 1 :]) for c in changes(each))
