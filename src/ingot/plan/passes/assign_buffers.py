"""Assigns the kinds of buffers. A value that eager ops or results use becomes a tensor of its own,
as does one whose size is unknown when the plan starts. All other values made by native code go to
the arena.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ingot.plan.ir import Check, Define, Eager, Kind, Op, Plan, Return, Steered, refs, walk
from ingot.plan.passes.base import Notes, PlanPass
from ingot.program.shapes import Size


@dataclass(frozen=True)
class AssignBuffers(PlanPass):
    name: ClassVar[str] = "assign_buffers"

    def run(self, plan: Plan, notes: Notes) -> Plan:
        named = {name for op in walk(plan.ops) for name in tensors(op)}
        inputs = set(plan.inputs)
        defines = [op for op in walk(plan.ops) if isinstance(op, Define)]
        known = {op.symbol for op in defines if op.buffer in inputs}
        buffers = []
        counts = {Kind.ARENA: 0, Kind.RESULT: 0}
        for buffer in plan.buffers:
            if buffer.kind is Kind.ARENA:
                fits = _is_known((*buffer.shape, *buffer.strides), known)
                kind = Kind.ARENA if fits and buffer.name not in named else Kind.RESULT
                counts[kind] += 1
                buffer = replace(buffer, kind=kind)
            buffers.append(buffer)
        notes.add(f"{counts[Kind.ARENA]} in the arena, {counts[Kind.RESULT]} tensors")
        return replace(plan, buffers=tuple(buffers))


def tensors(op: Op) -> Iterator[str]:
    """The buffers that an op needs as Python objects."""
    values: Any = ()
    match op:
        case Eager():
            values = (op.call.args, tuple(v for _, v in op.call.kwargs))
        case Check():
            values = op.condition
        case Steered():
            values = (op.predicate, op.operands)
        case Return():
            values = op.values
    yield from refs(values)


def _is_known(sizes: tuple[Size, ...], known: set[str]) -> bool:
    return all(
        isinstance(size, int) or all(symbol.name in known for symbol in size.free_symbols)
        for size in sizes
    )
