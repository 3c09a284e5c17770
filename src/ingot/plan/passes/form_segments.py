"""Groups consecutive native ops into segments, each executed in one call from Python. Definitions
and checks of sizes touch no tensor that native code writes, so they move in front of the open
segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ingot.plan.ir import (
    NOWHERE,
    Branch,
    Check,
    Define,
    Loop,
    Op,
    Plan,
    Require,
    Requirement,
    Segment,
    Step,
    is_native,
)
from ingot.plan.passes.base import Notes, PlanPass, count, on_eager_blocks


@dataclass(frozen=True)
class FormSegments(PlanPass):
    name: ClassVar[str] = "form_segments"
    step_by_step: bool = False
    """One segment for each step of the program, so that each can be timed."""

    def run(self, plan: Plan, notes: Notes) -> Plan:
        formed = replace(plan, ops=on_eager_blocks(plan.ops, self._formed))
        notes.add(f"{count(formed, Segment)} segments")
        return formed

    def _formed(self, ops: tuple[Op, ...]) -> tuple[Op, ...]:
        result: list[Op] = []
        run: list[Op] = []

        def close() -> None:
            if run:
                result.append(_segment(run))
                run.clear()

        for op in ops:
            if isinstance(op, Define | Check):
                result.append(op)
            elif is_native(op):
                if self.step_by_step and run and _step(op) not in (NOWHERE, _step(run[-1])):
                    close()
                run.append(op)
            else:
                close()
                result.append(op)
        close()
        return tuple(result)


def _step(op: Op) -> Step:
    return getattr(op, "step", NOWHERE)


def _segment(ops: Sequence[Op]) -> Segment:
    requirements = dict.fromkeys(r for op in ops for r in _required(op))
    return Segment(tuple(_without(ops)), tuple(requirements))


def _required(op: Op) -> Iterator[Requirement]:
    match op:
        case Require():
            yield from op.requirements
        case Branch():
            for inner in (*op.then, *op.otherwise):
                yield from _required(inner)
        case Loop():
            for inner in (*op.test, *op.body):
                yield from _required(inner)


def _without(ops: Sequence[Op]) -> Iterator[Op]:
    """The ops without requirements, at any depth."""
    for op in ops:
        match op:
            case Require():
                continue
            case Branch():
                then, otherwise = tuple(_without(op.then)), tuple(_without(op.otherwise))
                yield replace(op, then=then, otherwise=otherwise)
            case Loop():
                yield replace(op, test=tuple(_without(op.test)), body=tuple(_without(op.body)))
            case _:
                yield op
