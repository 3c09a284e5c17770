"""The cost of a call: one tiny kernel and a small MLP, through torch.compile and ahead of time.

Reports microseconds per call for eager, Inductor, ingot through torch.compile and ingot ahead of
time (`ingot.compile`), each in its own process, timed in turns; and whether the bars are met.
"""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")  # read when torch loads

import click
import torch

import plain_nets
from ingot.bench.table import aligned, met, number
from ingot.bench.workers import THREADS, Measured, measure_in_turns, network_job
from provenance import provenance

CONTENDERS = ("eager", "inductor", "ingot", "ingot ahead")
WORKLOADS = {"one tiny kernel": plain_nets.tiny, "mlp": plain_nets.mlp}
TINY_BAR_US = 8.0
TINY_SHARE_BAR = 1 / 3
MLP_BAR_US = 60.0


def microseconds(measured: Measured) -> dict[str, float]:
    return {name: each.median_ms * 1e3 for name, each in measured.times.items()}


def table_of(measured: dict[str, Measured]) -> list[str]:
    rows = [["µs a call", *CONTENDERS]]
    for workload, each in measured.items():
        us = microseconds(each)
        rows.append([workload, *(number(us.get(name), ".1f") for name in CONTENDERS)])
    return aligned(rows)


def verdicts(measured: dict[str, Measured]) -> list[str]:
    """A line for each bar; a missing value does not meet it."""
    tiny, mlp = (microseconds(measured[name]) for name in WORKLOADS)
    ahead = tiny.get("ingot ahead")
    share = None if ahead is None or "inductor" not in tiny else ahead / tiny["inductor"]
    ours = min((mlp[name] for name in ("ingot", "ingot ahead") if name in mlp), default=None)
    return [
        bar_line("One tiny kernel ahead of time, µs", ahead, TINY_BAR_US),
        bar_line("The same against Inductor through torch.compile", share, TINY_SHARE_BAR),
        bar_line("The MLP by the faster of ingot's ways, µs", ours, MLP_BAR_US),
    ]


def bar_line(text: str, value: float | None, bar: float) -> str:
    holds = value is not None and value <= bar
    return f"- {text}: {number(value, '.2f')} (bar {bar:.2g}, {met(holds)})"


@click.command()
@click.option("--quick", is_flag=True, help="Few rounds.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the table to PATH.")
def main(quick: bool, out: Path | None) -> None:
    """Measure the cost of a call."""
    torch.set_num_threads(THREADS)
    rounds = 9 if quick else 41
    measured = {
        workload: measure_in_turns({name: network_job(name, build) for name in CONTENDERS}, rounds)
        for workload, build in WORKLOADS.items()
    }
    absent = [
        f"- {workload}, {name}: {why}"
        for workload, each in measured.items()
        for name, why in each.missing.items()
    ]
    lines = [provenance(), *table_of(measured), "", *verdicts(measured)]
    if absent:
        lines += ["", "Did not run:", "", *absent]
    text = "\n".join(lines) + "\n"
    click.echo(text)
    if out:
        out.with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
