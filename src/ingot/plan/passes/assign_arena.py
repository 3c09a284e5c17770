"""Assigns lifetimes to arena buffers, and offsets in the arena if every size is static."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ingot.plan.arena import Lifetime, arranged
from ingot.plan.invariants import Invariant
from ingot.plan.ir import Kind, Plan
from ingot.plan.liveness import lifetimes
from ingot.plan.passes.base import Notes, PlanPass


@dataclass(frozen=True)
class AssignArena(PlanPass):
    name: ClassVar[str] = "assign_arena"
    establishes: ClassVar[frozenset[Invariant]] = frozenset({Invariant.ARENA})

    def run(self, plan: Plan, notes: Notes) -> Plan:
        alive = lifetimes(plan.ops)
        arena = [b for b in plan.buffers if b.kind is Kind.ARENA and b.name in alive]
        placed = {b.name: replace(b, lifetime=alive[b.name]) for b in arena}
        sizes = [buffer.nbytes for buffer in arena]
        if all(isinstance(size, int) for size in sizes):
            lives = [Lifetime(*alive[b.name], size) for b, size in zip(arena, sizes, strict=True)]
            offsets, total = arranged(lives)
            for buffer, offset in zip(arena, offsets, strict=True):
                placed[buffer.name] = replace(placed[buffer.name], offset=offset)
            notes.add(f"{total} bytes for {sum(sizes)} bytes of values")
        else:
            notes.add("placed for each set of sizes")
        return replace(plan, buffers=tuple(placed.get(b.name, b) for b in plan.buffers))
