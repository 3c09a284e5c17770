"""Verification between plan passes: the invariants that each pass establishes, and the error that
names the pass which broke a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
import torch

import ingot
from ingot.errors import PlanError
from ingot.journal import Journal
from ingot.plan.invariants import FINAL, Invariant
from ingot.plan.ir import Allocate, Free, Kind, Op, Plan, Segment
from ingot.plan.passes import base
from ingot.plan.passes.assign_arena import AssignArena
from ingot.plan.passes.place_allocations import PlaceAllocations
from ingot.plan.text import parse
from ingot.plan.verify import verify
from tests.plan.samples import LINEAR, STATIC


def unplaced(text: str) -> Plan:
    """The plan before allocations and the arena are placed."""
    plan = parse(text)
    ops = tuple(op for op in plan.ops if not isinstance(op, Allocate | Free))
    buffers = tuple(replace(b, lifetime=None, offset=None) for b in plan.buffers)
    return replace(plan, ops=ops, buffers=buffers)


UNPLACED = unplaced(STATIC)


def test_each_invariant_is_required_from_its_pass_on() -> None:
    verify(UNPLACED, holds=frozenset({Invariant.BUFFERS}))
    with pytest.raises(PlanError, match="%y is not there yet"):
        verify(UNPLACED, holds=frozenset({Invariant.BUFFERS, Invariant.ALLOCATIONS}))
    with pytest.raises(PlanError, match="it has no lifetime"):
        verify(UNPLACED, holds=frozenset({Invariant.BUFFERS, Invariant.ARENA}))
    with pytest.raises(PlanError):
        verify(UNPLACED)


def test_a_later_invariant_must_not_hold_early() -> None:
    with pytest.raises(PlanError, match="before the arena is assigned"):
        verify(parse(STATIC), holds=FINAL - {Invariant.ARENA})


def test_eager_ops_may_name_arena_memory_until_buffers_are_assigned() -> None:
    """`assign_buffers` makes a tensor of it."""
    plan = unplaced(LINEAR)
    arena = (replace(b, kind=Kind.ARENA) if b.kind is Kind.RESULT else b for b in plan.buffers)
    drafted = replace(plan, buffers=tuple(arena))
    verify(drafted, holds=frozenset())
    with pytest.raises(PlanError, match="%y is arena memory, no tensor"):
        verify(drafted, holds=frozenset({Invariant.BUFFERS}))


def test_passes_make_it_final() -> None:
    passed: list[base.Passed] = []
    with base.listening(passed.append):
        plan, _ = base.run_passes(UNPLACED, [PlaceAllocations(), AssignArena()], Journal(), True)
    verify(plan)
    assert [each.name for each in passed] == ["place_allocations", "assign_arena"]
    assert passed[-1].plan is plan
    assert passed[-1].holds == {Invariant.ALLOCATIONS, Invariant.ARENA}


@dataclass(frozen=True)
class _Reverse(base.PlanPass):
    """Reverses the order of native ops."""

    name: ClassVar[str] = "reverse"

    def run(self, plan: Plan, notes: base.Notes) -> Plan:
        return replace(plan, ops=tuple(map(self._reversed, plan.ops)))

    def _reversed(self, op: Op) -> Op:
        return replace(op, ops=op.ops[::-1]) if isinstance(op, Segment) else op


def test_the_error_names_the_pass() -> None:
    with pytest.raises(PlanError, match="after reverse: %h is read, but nothing has written it"):
        base.run_passes(unplaced(LINEAR), [_Reverse()], Journal(), check=True)


def test_the_option_verifies_between_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that breaks the plan is named, although the final plan would be refused anyway."""
    monkeypatch.setattr("ingot.select.planner.FormParallel", _Reverse)
    x = torch.randn(4, 300)
    options = {"strict": True, "verify": True}
    with torch.no_grad(), pytest.raises(PlanError, match="after reverse"):
        ingot.compile(lambda x: (x.exp() @ x.t()).cumsum(0), (x,), options=options)


def test_every_pass_of_a_compilation_is_told() -> None:
    passed: list[str] = []
    with base.listening(lambda each: passed.append(each.name)), torch.no_grad():
        ingot.compile(lambda x: x.exp().sum(), (torch.randn(4),), options={"strict": True})
    assert passed[0] == "eliminate_dead_ops" and passed[-1] == "assign_arena"


def test_the_journal_keeps_the_plans_of_bodies() -> None:
    """A branch inside a branch: the sorts are eager, so that Python executes both."""

    def program(x: torch.Tensor) -> torch.Tensor:
        def positive(x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.amax() > 1, lambda x: x.sort(-1).values.exp(), torch.sin, (x,))

        return torch.cond(x.sum() > 0, positive, lambda x: x.sort(-1).values * 2, (x,))

    with torch.no_grad():
        compiled = ingot.compile(program, (torch.randn(3, 4),), options={"strict": True}).compiled
    entries = compiled.plan_journal.entries
    passes = [entry.name for entry in entries if not entry.within]
    bodies = list(dict.fromkeys(entry.within for entry in entries if entry.within))
    assert bodies == ["cond/0", "cond/0/cond/0", "cond/0/cond/1", "cond/1"]
    for body in bodies:
        assert [entry.name for entry in entries if entry.within == body] == passes
    assert "cond/1: assign_arena: " in compiled.plan_journal.as_text()
