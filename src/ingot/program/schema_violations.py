"""Composite ops of this PyTorch that violate their schema, as found by `ingot.capture.audit`, each
with its kinds of violation. `alias`: a result shares memory with an argument though the schema
promises a fresh tensor; `fresh`: the schema promises a view and the result may be a copy; `write`:
an argument is written to that the schema does not mark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import torch
from torch._ops import OpOverload

aten = torch.ops.aten


@cache
def schema_violations() -> dict[OpOverload, frozenset[str]]:
    text = files("ingot.program").joinpath("schema_violations.json").read_text()
    table = json.loads(text)["violations"]
    return {_overload(name): frozenset(entry["kinds"]) for name, entry in table.items()}


def _overload(name: str) -> OpOverload:
    space, packet, overload = name.split(".")
    found: OpOverload = getattr(getattr(getattr(torch.ops, space), packet), overload)
    return found


Condition = Callable[[Mapping[str, Any]], bool]


def _not_training(arguments: Mapping[str, Any]) -> bool:
    return not arguments["training"] or arguments.get("running_mean") is None


def _no_input_stats(arguments: Mapping[str, Any]) -> bool:
    return not arguments["use_input_stats"] or arguments.get("running_mean") is None


quiet: dict[OpOverload, Condition] = {
    aten.batch_norm.default: _not_training,
    aten.native_batch_norm.default: _not_training,
    aten._batch_norm_impl_index.default: _not_training,
    aten.instance_norm.default: _no_input_stats,
}
"""When an op with an undeclared write does not write, by its other arguments."""


def writes_silently(op: OpOverload, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    if "write" not in schema_violations().get(op, ()) and op not in quiet:
        return False
    condition = quiet.get(op)
    return condition is None or not condition(named_arguments(op, args, kwargs))


def named_arguments(
    op: OpOverload, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Every argument by its name, in the schema's order, defaults included."""
    declared = op._schema.arguments
    given = {**dict(zip([a.name for a in declared], args)), **kwargs}
    return {
        a.name: given.get(a.name, a.default_value)
        for a in declared
        if a.name in given or a.has_default_value()
    }


def promises_view(op: OpOverload) -> bool:
    """Whether, by its schema, a result shares memory with an argument and nothing is written."""
    return not op._schema.is_mutable and any(
        a.alias_info is not None and not a.alias_info.is_write for a in op._schema.arguments
    )
