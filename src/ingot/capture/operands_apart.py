"""Operands of control flow in memory of their own. PyTorch refuses a branch or loop with two
operands in one storage, such as a loop that carries `x` and reads `x.shape[0]` in its condition:
the later operand becomes a copy. Bodies neither write their operands nor return them. Applies to
Dynamo's graphs and to exported programs, at any depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from ingot.program.higher_order import control_of

aten = torch.ops.aten


def separate_operands(module: fx.GraphModule) -> None:
    for inner in module.modules():
        if not isinstance(inner, fx.GraphModule):
            continue
        calls = [node for node in inner.graph.nodes if control_of(node) is not None]
        if any([_separate(node) for node in calls]):
            inner.recompile()


def _separate(call: fx.Node) -> bool:
    seen: set[int] = set()
    copied = False

    def apart(argument: Any) -> Any:
        if isinstance(argument, list | tuple):
            return type(argument)(map(apart, argument))
        value = _value(argument)
        if value is None:
            return argument
        memory = value.untyped_storage()._cdata
        if memory not in seen:
            seen.add(memory)
            return argument
        nonlocal copied
        copied = True
        with call.graph.inserting_before(call):
            copy = call.graph.call_function(aten.clone.default, (argument,))
        with torch.no_grad():
            fresh = aten.clone.default(value)
        key = "val" if "val" in argument.meta else "example_value"
        copy.meta = {**argument.meta, key: fresh}
        return copy

    call.args = tuple(apart(a) if isinstance(a, Sequence) else a for a in call.args)
    return copied


def _value(argument: Any) -> torch.Tensor | None:
    meta = argument.meta if isinstance(argument, fx.Node) else {}
    value = meta.get("val", meta.get("example_value"))
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return None
    return value
