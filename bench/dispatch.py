"""Range dispatch: one operation over 50 sizes, by each implementation alone, dispatched, and by
Inductor's own range autotuning.

Reports microseconds for each size, the time of the dispatched operation relative to the best single
implementation, its mean speed-up over each of them, the cost of the branch, and whether the bars
are met. Implementations and the dispatched operation run as ingot programs, called without
torch.compile; the last two columns are calls through torch.compile. All run on one thread: the
choice is compared, not how soon a second thread wakes up.
"""

from __future__ import annotations

import ctypes
import math
import os
import random
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")  # read when torch loads

import click
import torch
from torch import Tensor

import ingot
from ingot.bench.table import aligned, geometric_mean, met, number
from ingot.bench.timing import Timing, calls_per_sample, timed_ms
from ingot.codegen.support.executor import control_flow_address, executor
from ingot.dispatch.ranges import Range, RangeTable, Row
from ingot.plan.ir import Plan
from ingot.runtime.arena_layout import ArenaLayout
from ingot.runtime.table import ZERO, NativeSegment, NativeStep, Word
from provenance import provenance
from sorting import (
    IMPLEMENTATIONS,
    SPAN,
    inductor_ordered,
    matrix,
    ordered,
    register_with_inductor,
)

DISPATCHED = "dispatched"
THROUGH = "torch.compile: dispatched"
INDUCTOR = "torch.compile: Inductor"
NEAR_BAR, MEAN_BAR, BRANCH_BAR_US = 1.05, 1.2, 0.2
PAIRS = 10
"""For each round of all contenders, pairs of the two that are compared."""
TURNS = 20_000
SAMPLE_SECONDS = 4e-4
MOST_SECONDS = 0.4
"""Limit on the time of the rounds of one size for one contender."""

Call = Callable[[Tensor], object]


@dataclass(frozen=True)
class Measured:
    size: int
    times: dict[str, Timing]
    ratio: float
    """The dispatched operation's time relative to the best single implementation's, the two
    measured alone in turns."""


def fifty_sizes() -> list[int]:
    low, high = (math.log(n) for n in SPAN)
    sizes: list[int] = []
    for k in range(50):
        size = round(math.exp(low + (high - low) * k / 49))
        sizes.append(max(size, sizes[-1] + 1) if sizes else size)
    return sizes


def program_of(function: Callable[[Tensor], Tensor]) -> ingot.Program:
    rows = torch.export.Dim("rows", min=SPAN[0], max=SPAN[1])
    return ingot.export(function, (matrix(60),), dynamic_shapes=({0: rows},), level="core")


def native(function: Callable[[Tensor], Tensor]) -> Call:
    from ingot.pipeline import compile_program

    run = compile_program(program_of(function), ingot.Options()).run
    return lambda x: run([x])


def alone(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The operation with one implementation for all sizes, captured like the dispatched one."""

    @ingot.dispatch(on=("x", 0), ranges=[(0, None)])
    def single(x: Tensor) -> Tensor:
        return x.sort(dim=0).values

    single.implementation()(function)
    single.pin({(0, None): function.__name__})
    return single


def contenders() -> dict[str, Call]:
    found = {name: native(alone(function)) for name, function in IMPLEMENTATIONS.items()}
    found[DISPATCHED] = native(ordered)
    found[THROUGH] = torch.compile(lambda x: ordered(x), backend="ingot", dynamic=True)
    register_with_inductor(splits(chosen()))
    found[INDUCTOR] = torch.compile(lambda x: inductor_ordered(x), dynamic=True)
    return found


def chosen() -> RangeTable:
    return ordered.tune(matrix(60)).table.merged()


def splits(table: RangeTable) -> list[int]:
    return [row.box[0].high for row in table.rows if row.box[0].high is not None]


def serves(name: str, x: Tensor) -> bool:
    """Is the implementation meant for this size?"""
    candidate = ordered.candidates.get(name)
    return candidate is None or candidate.serves({"x": x.shape})


def measured(calls: dict[str, Call], size: int, rounds: int) -> Measured:
    x = matrix(size)
    calls = {name: call for name, call in calls.items() if serves(name, x)}
    for name, call in calls.items():
        result = call(x)
        found = result if isinstance(result, Tensor) else result[0]  # type: ignore[index]
        assert torch.equal(found, x.sort(dim=0).values), f"{name} is wrong at {size}"
        call(x)
    timers = {name: sampler(call, x) for name, call in calls.items()}
    slowest = max(timer() for timer in timers.values())
    turns = max(3, min(rounds, round(MOST_SECONDS * 1e3 / slowest)))
    times = in_mixed_turns(timers, turns, size)
    singles = [name for name in IMPLEMENTATIONS if name in times]
    best = min(singles, key=lambda name: times[name].median_ms)
    return Measured(size, times, ratio_of(timers[DISPATCHED], timers[best], PAIRS * rounds, size))


def ratio_of(
    ours: Callable[[], float], theirs: Callable[[], float], rounds: int, seed: int
) -> float:
    """The median ratio over pairs of samples, the two measured alone in turns; the number of pairs
    is the same for every size."""
    pair = in_mixed_turns({"ours": ours, "theirs": theirs}, rounds, seed)
    return statistics.median(a / b for a, b in zip(pair["ours"].samples, pair["theirs"].samples))


def sampler(call: Call, x: Tensor) -> Callable[[], float]:
    """A call that times itself, in milliseconds."""
    count = calls_per_sample(lambda: call(x), SAMPLE_SECONDS)
    return lambda: timed_ms(lambda: call(x), count)


def in_mixed_turns(
    timers: dict[str, Callable[[], float]], rounds: int, seed: int
) -> dict[str, Timing]:
    """Each round in a random order, so that no contender always runs on the caches that the same
    other one left."""
    mixed = random.Random(seed)
    samples: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(rounds):
        for name in mixed.sample(list(timers), len(timers)):
            samples[name].append(timers[name]())
    return {name: Timing(tuple(values)) for name, values in samples.items()}


def branches(table: RangeTable, size: int, step: NativeStep) -> NativeStep:
    """The steps of a branch by size, all of whose versions run `step`."""
    *before, _ = table.rows
    found = step
    for row in reversed(before):
        words = (Word(ZERO, size), Word(ZERO, row.box[0].high), Word(ZERO, 0))
        found = NativeStep(control_flow_address("branch"), words, None, ((step,), (found,)))
    return found


def branch_us() -> float:
    """The cost of the branch: a program of three versions, each of which copies nothing, repeated
    often enough for the clock, minus the same without branches. The last version is taken, so both
    conditions are evaluated."""
    execute, bases = executor(), (ctypes.c_int64 * 2)()
    nothing = NativeStep(control_flow_address("copy"), (Word(ZERO, 0),) * 3, None)
    ends = ((0, 8), (9, 16), (17, None))
    table = RangeTable(tuple(Row((Range(*each),), "nothing") for each in ends))
    three = branches(table, 20, nothing)

    def timer(step: NativeStep) -> Callable[[], float]:
        words = (Word(ZERO, TURNS), Word(ZERO, 0), Word(ZERO, 0))
        scan = NativeStep(control_flow_address("scan"), words, None, ((step,),))
        segment = NativeSegment(ArenaLayout(Plan((), ())), [scan])

        def run() -> None:
            execute(segment.table((), ()).address, ctypes.addressof(bases))

        return lambda: timed_ms(run, 1)

    times = in_mixed_turns({"three": timer(three), "one": timer(nothing)}, 41, 0)
    pairs = zip(times["three"].samples, times["one"].samples)
    return statistics.median(a - b for a, b in pairs) * 1e3 / TURNS


def table_of(found: list[Measured]) -> list[str]:
    names = [*IMPLEMENTATIONS, DISPATCHED, THROUGH, INDUCTOR]
    rows = [["rows, µs a call", *names[:4], "against best", *names[4:]]]
    for each in found:
        us = [
            number(each.times[name].median_ms * 1e3 if name in each.times else None, ".1f")
            for name in names
        ]
        rows.append([str(each.size), *us[:4], f"{each.ratio:.3f}", *us[4:]])
    return aligned(rows)


def mean_speedup(found: list[Measured], name: str, ours: str = DISPATCHED) -> float:
    """Over the sizes that the implementation is meant for."""
    return geometric_mean(
        [
            each.times[name].median_ms / each.times[ours].median_ms
            for each in found
            if name in each.times
        ]
    )


def verdicts(found: list[Measured], branch: float) -> list[str]:
    worst = max(found, key=lambda each: each.ratio)
    lines = [
        f"- Farthest from the best single implementation: {worst.ratio:.3f} at {worst.size} rows "
        f"(bar {NEAR_BAR}, {met(worst.ratio <= NEAR_BAR)})"
    ]
    for name in IMPLEMENTATIONS:
        mean = mean_speedup(found, name)
        lines.append(
            f"- Geometric mean over {name}: {mean:.2f} times (bar {MEAN_BAR}, "
            f"{met(mean >= MEAN_BAR)})"
        )
    lines.append(
        f"- The branch itself: {branch:.3f} µs (bar {BRANCH_BAR_US}, {met(branch < BRANCH_BAR_US)})"
    )
    against = mean_speedup(found, INDUCTOR, THROUGH)
    lines.append(
        f"- Through torch.compile, geometric mean over Inductor's autotuning: {against:.2f}"
    )
    return lines


@click.command()
@click.option("--quick", is_flag=True, help="Few rounds.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the table to PATH.")
@click.option("--plot", type=click.Path(), help="Write an SVG of the tuning to PATH.")
def main(quick: bool, out: Path | None, plot: str | None) -> None:
    """Measure range dispatch."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INGOT_TUNING"] = folder
        start = time.perf_counter()
        table = chosen()
        tuned = time.perf_counter() - start
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            calls = contenders()
            found = [measured(calls, size, 5 if quick else 15) for size in fifty_sizes()]
            branch = branch_us()
    if plot is not None:
        ordered.plot(plot)
    lines = [
        provenance(),
        f"Tuned in {tuned:.1f} s:",
        "",
        *(f"- {row.as_text()}, confidence {row.confidence:.0%}" for row in table.rows),
        "",
        *table_of(found),
        "",
        *verdicts(found, branch),
    ]
    text = "\n".join(lines) + "\n"
    click.echo(text)
    if out is not None:
        out.write_text(text)


if __name__ == "__main__":
    main()
