"""Allocates tensors right before the op that uses them first and frees them after the last."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ingot.plan.invariants import Invariant
from ingot.plan.ir import Allocate, Branch, Fold, Free, Kind, Op, Plan, Return, is_native, walk
from ingot.plan.liveness import uses
from ingot.plan.passes.base import Notes, PlanPass, count

FREED = (Kind.INPUT, Kind.EAGER, Kind.RESULT, Kind.FOLDED, Kind.OBJECT)


@dataclass(frozen=True)
class PlaceAllocations(PlanPass):
    name: ClassVar[str] = "place_allocations"
    establishes: ClassVar[frozenset[Invariant]] = frozenset({Invariant.ALLOCATIONS})

    def run(self, plan: Plan, notes: Notes) -> Plan:
        # Input numbers stay: they hold no memory, and recovery needs all inputs.
        numbers = {b.name for b in plan.buffers if b.kind is Kind.OBJECT and b.name in plan.inputs}
        kinds = {b.name: b.kind for b in plan.buffers if b.name not in numbers}
        placed = replace(plan, ops=_placed(plan.ops, kinds))
        notes.add(f"{count(placed, Allocate)} allocations")
        return placed


def _placed(ops: tuple[Op, ...], kinds: dict[str, Kind]) -> tuple[Op, ...]:
    touched = [_touched(op) for op in ops]
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for k, names in enumerate(touched):
        for name in names:
            first.setdefault(name, k)
            last[name] = k
    result: list[Op] = []
    for k, op in enumerate(ops):
        if isinstance(op, Branch) and not is_native(op):  # each version has its own allocations
            then, otherwise = (_placed(block, kinds) for block in (op.then, op.otherwise))
            result.append(replace(op, then=then, otherwise=otherwise))
            continue
        made = (n for n in touched[k] if first[n] == k and kinds.get(n) is Kind.RESULT)
        result += [Allocate(name) for name in made]
        result.append(op)
        gone = tuple(n for n in touched[k] if last[n] == k and kinds.get(n) in FREED)
        if gone and not isinstance(op, Return | Fold):
            result.append(Free(gone))
    return tuple(result)


def _touched(op: Op) -> list[str]:
    return list(dict.fromkeys(name for inner in walk((op,)) for name, _ in uses(inner)))
