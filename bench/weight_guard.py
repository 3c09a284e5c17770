"""The cost of the weight guard: calls of one model, compiled with each guard, timed in turns.

"digests" is the exact guard on a machine whose kernel has no write tracking: every call compares
all bytes of the packed weights.
"""

from __future__ import annotations

import os

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")  # read when torch loads

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
import torch

import ingot
import nets
import plain_nets
from ingot.bench.table import aligned
from ingot.bench.timing import calls_per_sample, sample_in_turns, timed_ms
from ingot.bench.workload import Workload
from ingot.plan.contents import guarded
from provenance import provenance

WORKLOADS: dict[str, Callable[[], Workload]] = {
    "mlp": plain_nets.mlp,
    "gpt2-decode": nets.gpt2_decode,
    "bert-base": nets.bert,
}
GUARDS = ("off", "sampled", "exact", "digests")
CALM = 24
"""Calls after which unchanged weights are armed."""


@contextmanager
def _without_tracking() -> Iterator[None]:
    known = guarded.tracker
    guarded.tracker = lambda: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        guarded.tracker = known  # type: ignore[method-assign]


def _calls(workload: str) -> dict[str, Callable[[], float]]:
    """Milliseconds per call with each guard. Each has its own copy of the model, so that the
    comparisons of one leave the weights of the others alone."""
    return {guard: _call(workload, guard) for guard in GUARDS}


def _call(workload: str, guard: str) -> Callable[[], float]:
    model, args = WORKLOADS[workload]()
    option = "exact" if guard == "digests" else guard
    exe = ingot.compile(model, args, options={"weight_guard": option})

    def run() -> object:
        return exe(*args)

    chosen = _without_tracking()(run) if guard == "digests" else run
    for _ in range(CALM):
        chosen()
    count = calls_per_sample(chosen, 0.02)
    return lambda: timed_ms(chosen, count)


@click.command()
@click.option("--rounds", default=41)
def main(rounds: int) -> None:
    """Measure the cost of each weight guard."""
    rows = [["ms a call", *GUARDS, "exact / off", "digests / off"]]
    with torch.no_grad():
        for workload in WORKLOADS:
            times = sample_in_turns(_calls(workload), rounds=rounds)
            ms = {name: each.median_ms for name, each in times.items()}
            rows.append(
                [workload, *(f"{ms[g]:.4g}" for g in GUARDS)]
                + [f"{ms[g] / ms['off']:.3f}" for g in ("exact", "digests")]
            )
    click.echo("\n".join([provenance(), *aligned(rows)]))


if __name__ == "__main__":
    main()
