"""Passes over plans: each has a name, returns a new plan and notes its reasons."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ingot.journal import Entry, Journal
from ingot.plan.ir import Branch, Op, Plan, is_native, walk


class PlanPass:
    """Subclasses are frozen dataclasses. A pass never mutates the plan it is given."""

    name: ClassVar[str]

    def run(self, plan: Plan, notes: Notes) -> Plan:
        raise NotImplementedError


@dataclass
class Notes:
    """Reasons, for the journal."""

    lines: list[str] = field(default_factory=list)

    def add(self, line: str) -> None:
        self.lines.append(line)


def run_passes(
    plan: Plan,
    passes: Sequence[PlanPass],
    journal: Journal,
    check: Callable[[Plan], None] | None = None,
) -> tuple[Plan, Journal]:
    for each in passes:
        start, before, notes = time.perf_counter(), len(plan.ops), Notes()
        plan = each.run(plan, notes)
        if check is not None:
            check(plan)
        ms = 1e3 * (time.perf_counter() - start)
        entry = Entry(each.name, ms, before, len(plan.ops), tuple(notes.lines))
        journal = journal.with_entry(entry)
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
