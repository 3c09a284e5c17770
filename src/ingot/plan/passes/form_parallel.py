"""Parallel regions: consecutive launches that threads can share become work for one team of
threads. A launch that needs only one thread joins a region only between launches that use several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ingot.plan.ir import Branch, Launch, Loop, Op, Parallel, Plan, Segment
from ingot.plan.passes.base import Notes, PlanPass, count, on_eager_blocks
from ingot.plan.sizes import largest

MOST_SMALL = 2
"""Consecutive small launches for which a team of threads waits instead of being dismissed and woken
again."""


@dataclass(frozen=True)
class FormParallel(PlanPass):
    name: ClassVar[str] = "form_parallel"

    def run(self, plan: Plan, notes: Notes) -> Plan:
        formed = replace(plan, ops=on_eager_blocks(plan.ops, _in_segments))
        notes.add(f"{count(formed, Parallel)} parallel regions")
        return formed


def _in_segments(ops: tuple[Op, ...]) -> tuple[Op, ...]:
    return tuple(
        replace(op, ops=_in_loops(_formed(op.ops))) if isinstance(op, Segment) else op for op in ops
    )


def _in_loops(ops: Sequence[Op]) -> tuple[Op, ...]:
    """Also forms regions in the bodies of branches and loops."""
    found: list[Op] = []
    for op in ops:
        match op:
            case Branch():
                then, otherwise = (_in_loops(_formed(b)) for b in (op.then, op.otherwise))
                op = replace(op, then=then, otherwise=otherwise)
            case Loop():
                test, body = (_in_loops(_formed(b)) for b in (op.test, op.body))
                op = replace(op, test=test, body=body)
        found.append(op)
    return tuple(found)


def _formed(ops: Sequence[Op]) -> list[Op]:
    result: list[Op] = []
    run: list[Launch] = []
    for op in ops:
        if not isinstance(op, Launch) or op.threads is None:
            result += _closed(run)
            run = []
            result.append(op)
            continue
        run.append(op)
        if len(run) > MOST_SMALL and not any(map(_is_large, run[-MOST_SMALL - 1 :])):
            result += _closed(run)
            run = []
    return result + _closed(run)


def _closed(run: Sequence[Launch]) -> list[Op]:
    """One region from the run's first to its last large launch; the other launches as they were."""
    large = [k for k, launch in enumerate(run) if _is_large(launch)]
    if len(large) < 2:
        return [*run]
    first, end = large[0], large[-1] + 1
    inside = tuple(run[first:end])
    threads = largest(launch.threads for launch in inside if launch.threads is not None)
    return [*run[:first], Parallel(inside, threads), *run[end:]]


def _is_large(launch: Launch) -> bool:
    """May several threads find work?"""
    threads = launch.threads
    return threads is not None and (not isinstance(threads, int) or threads > 1)
