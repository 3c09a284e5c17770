"""Passes over plans: each has a name, returns a new plan and notes its reasons."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ingot.journal import Journal, JournalEntry
from ingot.listeners import Listeners
from ingot.plan.invariants import Invariant
from ingot.plan.ir import Branch, Op, Plan, is_native, walk
from ingot.plan.verify import verify


class PlanPass:
    """Subclasses are frozen dataclasses. A pass never mutates the plan it is given."""

    name: ClassVar[str]
    establishes: ClassVar[frozenset[Invariant]] = frozenset()
    """Invariants that hold after this pass and did not before."""

    def run(self, plan: Plan, notes: Notes) -> Plan:
        raise NotImplementedError


@dataclass
class Notes:
    """Reasons, for the journal."""

    lines: list[str] = field(default_factory=list)

    def add(self, line: str) -> None:
        self.lines.append(line)


@dataclass(frozen=True)
class Passed:
    """A pass has run."""

    name: str
    plan: Plan
    holds: frozenset[Invariant]


_passed: Listeners[Passed] = Listeners()
listening = _passed.listening


def run_passes(
    plan: Plan, passes: Sequence[PlanPass], journal: Journal, check: bool = False
) -> tuple[Plan, Journal]:
    """With `check`, the plan is verified after every pass."""
    holds: frozenset[Invariant] = frozenset()
    for each in passes:
        start, before, notes = time.perf_counter(), len(plan.ops), Notes()
        plan = each.run(plan, notes)
        holds |= each.establishes
        if check:
            verify(plan, holds=holds, after=each.name)
        ms = 1e3 * (time.perf_counter() - start)
        entry = JournalEntry(each.name, ms, before, len(plan.ops), tuple(notes.lines))
        journal = journal.with_entry(entry)
        _passed.tell(Passed(each.name, plan, holds))
    return plan, journal


def on_eager_blocks(
    ops: Sequence[Op], change: Callable[[tuple[Op, ...]], tuple[Op, ...]]
) -> tuple[Op, ...]:
    """Applies `change` to every list of ops that Python runs, including those of each version."""
    found = []
    for op in ops:
        if isinstance(op, Branch) and not is_native(op):
            then, otherwise = (on_eager_blocks(b, change) for b in (op.then, op.otherwise))
            op = replace(op, then=then, otherwise=otherwise)
        found.append(op)
    return change(tuple(found))


def count(plan: Plan, kind: type) -> int:
    return sum(isinstance(op, kind) for op in walk(plan.ops))
