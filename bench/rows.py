"""The rows by which two commits are compared, in four benchmarks. They use only torch and the
public API of ingot (`torch.compile(backend="ingot")`, `ingot.compile`), so that this code can
measure any commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import compile_time
import kernel_cases
import kernels
import nets
import plain_nets
from ingot.bench.tree import Tree
from ingot.bench.workers import Job, Measured, cold_in_turns, measure_in_turns, network_job

Measure = Callable[[Mapping[str, Job], int], Measured]


@dataclass(frozen=True)
class Row:
    name: str
    job: Callable[[Tree], Job]


@dataclass(frozen=True)
class Benchmark:
    rows: Callable[[bool], list[Row]]
    """All of them, or the quick ones."""
    rounds: int
    quick_rounds: int
    measure: Measure = measure_in_turns


def network_rows(name: str, build: Callable[[], nets.Workload]) -> list[Row]:
    return [
        Row(f"{name}, ahead of time", partial(network_job, "ingot ahead", build)),
        Row(f"{name}, torch.compile", partial(network_job, "ingot", build)),
    ]


def models(quick: bool) -> list[Row]:
    names = nets.QUICK if quick else list(nets.NETWORKS)
    return [row for name in names for row in network_rows(name, nets.NETWORKS[name])]


def launch(quick: bool) -> list[Row]:
    return [
        *network_rows("one tiny kernel", plain_nets.tiny),
        *network_rows("mlp", plain_nets.mlp),
    ]


def kernel(quick: bool) -> list[Row]:
    return [
        Row(label, partial(Job, partial(kernels.prepare_ahead, label)))
        for label in (case.label for case in kernel_cases.cases(quick=quick))
    ]


def compilation(quick: bool) -> list[Row]:
    names = compile_time.NETWORKS[: 1 if quick else None]
    return [
        Row(name, partial(network_job, "ingot", partial(compile_time.network, name)))
        for name in names
    ]


BENCHMARKS = {
    "models": Benchmark(models, 21, 7),
    "launch": Benchmark(launch, 41, 9),
    "kernels": Benchmark(kernel, 21, 9),
    "compile": Benchmark(compilation, 5, 3, cold_in_turns),
}
