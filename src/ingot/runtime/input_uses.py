"""The uses of a plan's inputs that the function around it prepares for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ingot.plan.ir import Buffer, Eager, EagerControlFlow, Kind, Launch, Plan, refs, walk


def written_inputs(plan: Plan, buffers: Mapping[str, Buffer]) -> set[str]:
    """Inputs that native code writes."""
    return {
        operand.buffer
        for op in walk(plan.ops)
        if isinstance(op, Launch)
        for _, operand in op.computes.outputs
        if buffers[operand.buffer].kind is Kind.INPUT
    }


def eager_inputs(plan: Plan, buffers: Mapping[str, Buffer]) -> set[str]:
    """Strided inputs that eager ops read or write, directly or through views."""
    found: set[str] = set()
    for op in walk(plan.ops):
        if isinstance(op, EagerControlFlow):
            found.update(_roots(op.operands, buffers))
        elif isinstance(op, Eager) and not _makes_view(op, buffers):
            found.update(_roots((op.call.args, tuple(v for _, v in op.call.kwargs)), buffers))
            found.update(op.writes)
    return {name for name in found if _is_strided(buffers[name])}


def _makes_view(op: Eager, buffers: Mapping[str, Buffer]) -> bool:
    result = buffers.get(op.call.result)
    return result is not None and result.alias is not None


def _roots(value: Any, buffers: Mapping[str, Buffer]) -> Iterator[str]:
    for name in refs(value):
        while (alias := buffers[name].alias) is not None:
            name = alias
        yield name


def _is_strided(buffer: Buffer) -> bool:
    return buffer.kind is Kind.INPUT and buffer.dtype is not None
