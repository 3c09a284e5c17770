"""Assigns the kinds of buffers. A value that eager ops or results use becomes a tensor of its own,
as does one whose size is unknown when the plan starts. All other values made by native code go to
the arena.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ingot.plan.invariants import Invariant
from ingot.plan.ir import Define, Kind, Plan, walk
from ingot.plan.liveness import tensors
from ingot.plan.passes.base import Notes, PlanPass
from ingot.program.shapes import Size


@dataclass(frozen=True)
class AssignBuffers(PlanPass):
    name: ClassVar[str] = "assign_buffers"
    establishes: ClassVar[frozenset[Invariant]] = frozenset({Invariant.BUFFERS})

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


def _is_known(sizes: tuple[Size, ...], known: set[str]) -> bool:
    return all(
        isinstance(size, int) or all(symbol.name in known for symbol in size.free_symbols)
        for size in sizes
    )
