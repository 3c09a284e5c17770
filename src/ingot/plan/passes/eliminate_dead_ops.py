"""Removes eager ops whose results are never read, mostly views that native ops see through."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ingot.plan.ir import Branch, Eager, Op, Plan, walk
from ingot.plan.liveness import uses
from ingot.plan.passes.base import Notes, PlanPass


@dataclass(frozen=True)
class EliminateDeadOps(PlanPass):
    name: ClassVar[str] = "eliminate_dead_ops"

    def run(self, plan: Plan, notes: Notes) -> Plan:
        live: set[str] = set()
        ops = _live(plan.ops, live)
        used = {name for op in walk(ops) for name, _ in uses(op)} | {*plan.inputs}
        used |= {source for recipe in plan.recipes for source in recipe.sources}
        packed = {recipe.buffer for recipe in plan.recipes}
        dropped = len(plan.buffers)
        buffers = tuple(b for b in plan.buffers if b.name in used or b.name in packed)
        notes.add(f"{dropped - len(buffers)} values are never read")
        return replace(plan, ops=ops, buffers=buffers)


def _live(ops: tuple[Op, ...], live: set[str]) -> tuple[Op, ...]:
    kept: list[Op] = []
    for op in reversed(ops):
        if isinstance(op, Eager) and _is_dead(op, live):
            continue
        if isinstance(op, Branch):
            op = replace(op, then=_live(op.then, live), otherwise=_live(op.otherwise, live))
        for inner in walk((op,)):
            live.update(name for name, access in uses(inner) if access != "free")
        kept.append(op)
    return tuple(reversed(kept))


def _is_dead(op: Eager, live: set[str]) -> bool:
    droppable = op.pure and not op.writes and not op.call.target.startswith("higher_order.")
    return droppable and op.call.result not in live
