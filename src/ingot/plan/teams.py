"""Native steps that follow each other, as work for one team of threads. Comes in: the steps of a
segment or a loop's body; goes out: the same, in which runs of steps that threads can share are one
step each. What holds: a step for which one thread would do is in a team only between steps that
want several.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch.utils._sympy.functions import FloorDiv, Max

from ingot.codegen.entry import has_openmp
from ingot.codegen.executor import steering_address
from ingot.fuse.index import Size
from ingot.plan.segment import ZERO, AnyStep, NativeStep, Share, SizedStep, Word

MOST_SMALL = 2
"""Steps in a row for which a team waits rather than being sent home and woken again."""


def shared(function: int, work: Size, for_a_thread: int) -> Share | None:
    """The share of a step; None where threads cannot share it."""
    if not function or not has_openmp():
        return None
    if isinstance(work, int):
        return Share(function, work // for_a_thread)
    return Share(function, FloorDiv(work, for_a_thread))


def teamed(steps: Sequence[AnyStep]) -> list[AnyStep]:
    result: list[AnyStep] = []
    run: list[NativeStep] = []
    for step in steps:
        if isinstance(step, SizedStep) or step.share is None:
            result += _closed(run)
            run = []
            result.append(step)
            continue
        run.append(step)
        if len(run) > MOST_SMALL and not any(map(_is_large, run[-MOST_SMALL - 1 :])):
            result += _closed(run)
            run = []
    return result + _closed(run)


def _is_large(step: NativeStep) -> bool:
    """May several threads find something to do?"""
    if step.share is None:
        return False
    threads = step.share.threads
    return not isinstance(threads, int) or threads > 1


def _most(counts: Iterable[Size]) -> Size:
    distinct = list(dict.fromkeys(counts))
    if all(isinstance(count, int) for count in distinct):
        return max(distinct)
    return Max(*distinct)


def _closed(run: Sequence[NativeStep]) -> list[NativeStep]:
    """The run's large steps and what is between them as one step, the others as they were."""
    large = [k for k, step in enumerate(run) if _is_large(step)]
    if len(large) < 2:
        return list(run)
    first, end = large[0], large[-1] + 1
    shared = [step for step in run[first:end] if step.share is not None]
    table = tuple(NativeStep(s.share.function, s.words, s.source) for s in shared if s.share)
    threads = _most(step.share.threads for step in shared if step.share is not None)
    team = NativeStep(
        steering_address("team"), (Word(ZERO, threads),), [s.source for s in shared], (table,)
    )
    return [*run[:first], team, *run[end:]]
