"""Native steps that follow each other, as work for one team of threads. Comes in: the steps of a
segment or a loop's body; goes out: the same, in which runs of steps that threads can share are one
step each. What holds: a step for which one thread would do is in a team only between steps that
want several.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from torch.utils._sympy.functions import FloorDiv, Max

from ingot.codegen.entry import has_openmp
from ingot.codegen.executor import steering_address
from ingot.plan.segment import ZERO, AnyStep, Launch, NativeStep, Share, SizedStep, Word
from ingot.program.shapes import Size

MOST_SMALL = 2
"""Steps in a row for which a team waits rather than being sent home and woken again."""


def shared(function: int, work: Size, for_a_thread: int) -> Share | None:
    """The share of a step; None where threads cannot share it."""
    threads = useful(work, for_a_thread)
    return None if not function or threads is None else Share(function, threads)


def useful(work: Size, for_a_thread: int) -> Size | None:
    """Threads that find something to do; None where there are none."""
    if not has_openmp():
        return None
    return work // for_a_thread if isinstance(work, int) else FloorDiv(work, for_a_thread)


def teamed(steps: Sequence[AnyStep]) -> list[AnyStep]:
    result: list[AnyStep] = []
    run: list[AnyStep] = []
    for step in steps:
        if _threads(step) is None:
            result += _closed(run)
            run = []
            result.append(step)
            continue
        run.append(step)
        if len(run) > MOST_SMALL and not any(map(_is_large, run[-MOST_SMALL - 1 :])):
            result += _closed(run)
            run = []
    return result + _closed(run)


def _threads(step: AnyStep) -> Size | None:
    """None: they cannot share it."""
    if isinstance(step, SizedStep):
        return step.threads
    return None if step.share is None else step.share.threads


def _is_large(step: AnyStep) -> bool:
    """May several threads find something to do?"""
    threads = _threads(step)
    return threads is not None and (not isinstance(threads, int) or threads > 1)


def _most(counts: Iterable[Size]) -> Size:
    distinct = list(dict.fromkeys(counts))
    if all(isinstance(count, int) for count in distinct):
        return max(distinct)
    return Max(*distinct)


def _closed(run: Sequence[AnyStep]) -> list[AnyStep]:
    """The run's large steps and what is between them as one step, the others as they were."""
    large = [k for k, step in enumerate(run) if _is_large(step)]
    if len(large) < 2:
        return list(run)
    first, end = large[0], large[-1] + 1
    inside = run[first:end]
    threads = _most(count for step in inside if (count := _threads(step)) is not None)
    table = tuple(map(_as_share, inside))
    team = NativeStep(
        steering_address("team"), (Word(ZERO, threads),), [s.source for s in inside], (table,)
    )
    return [*run[:first], team, *run[end:]]


def _as_share(step: AnyStep) -> AnyStep:
    """What each thread of the team does of it."""
    if isinstance(step, SizedStep):
        return replace(step, make=partial(_shares, step))
    assert step.share is not None
    return NativeStep(step.share.function, step.words, step.source)


def _shares(step: SizedStep, sizes: Sequence[int]) -> list[Launch]:
    return [replace(launch, function=launch.share) for launch in step.make(sizes)]
