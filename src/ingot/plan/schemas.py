"""Schemas of the ops that calls name, and the check of a call's arguments against them."""

from __future__ import annotations

from typing import Any

import torch

from ingot.plan.ir import Call
from ingot.plan.verify_context import Fault

_found: dict[str, Any] = {}


def op_overload(name: str) -> Any:
    """A registered op; None if the name is not that of an op known here."""
    if name not in _found:
        found = _overload(name)
        if found is None:  # a library may register it later
            return None
        _found[name] = found
    return _found[name]


def _overload(name: str) -> Any:
    parts = name.split(".")
    if len(parts) != 3:
        return None
    namespace, op, overload = parts
    try:
        torch._C._dispatch_find_schema_or_throw(
            f"{namespace}::{op}", "" if overload == "default" else overload
        )
    except RuntimeError:
        return None
    return getattr(getattr(getattr(torch.ops, namespace), op), overload, None)


def verify_schema(call: Call, subject: Any) -> None:
    """Every argument has a parameter, and every parameter without a default an argument."""
    target = op_overload(call.target)
    if target is None:
        if call.target.startswith("aten.") and call.target.count(".") == 2:
            raise Fault(subject, f"PyTorch has no op {call.target}")
        return
    parameters = target._schema.arguments
    free = [each for each in parameters if not each.kwarg_only]
    if len(call.args) > len(free):
        why = f"{len(call.args)} arguments, but {call.target} takes {len(free)}"
        raise Fault(subject, why)
    given = {each.name for each in free[: len(call.args)]}
    for name, _ in call.kwargs:
        if name in given or all(each.name != name for each in parameters):
            raise Fault(subject, f"{call.target} takes no argument {name!r} here")
        given.add(name)
    for each in parameters:
        if each.name not in given and not each.has_default_value():
            raise Fault(subject, f"{call.target} is called without {each.name!r}")
