"""Compares two commits of this repository: `python bench/against.py COMMIT` times COMMIT and the
work tree in turns, in one run.

Only `src/` comes from COMMIT; the measurements are defined here (`rows.py`). Every row has one
process for each tree; both are compared with eager before anything is timed. The exit status is 1
if speed was lost (`comparison.py` has the bars).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")  # read when torch loads

import click

from comparison import Pair, Side, tables, verdict_lines, verdict_of
from ingot.bench.tree import Tree
from ingot.bench.workers import Measured
from provenance import provenance
from rows import BENCHMARKS, Benchmark, Row
from trees import ROOT, git, tree_at

BASE, HERE = "base", "here"


def side_of(measured: Measured, name: str) -> Side:
    timing = measured.times.get(name)
    if timing is None:
        return Side(None, missing=measured.missing.get(name, "no time"))
    return Side(timing.median_ms, timing.spread)


def compare(name: str, benchmark: Benchmark, row: Row, trees: dict[str, Tree], quick: bool) -> Pair:
    jobs = {which: row.job(tree) for which, tree in trees.items()}
    rounds = benchmark.quick_rounds if quick else benchmark.rounds
    measured = benchmark.measure(jobs, rounds)
    pair = Pair(name, row.name, side_of(measured, BASE), side_of(measured, HERE))
    click.echo(f"{name}: {' | '.join(pair.cells())}", err=True)
    return pair


@click.command()
@click.argument("commit")
@click.argument("benchmarks", nargs=-1, type=click.Choice(list(BENCHMARKS)))
@click.option("--quick", is_flag=True, help="Fewer rows and rounds.")
@click.option("--runs", default=1, show_default=True, help="Repeat all; the majority decides.")
@click.option("--only", default="", help="Rows whose name contains this text.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the tables to PATH.")
def main(
    commit: str, benchmarks: tuple[str, ...], quick: bool, runs: int, only: str, out: Path | None
) -> None:
    """Time COMMIT and the work tree in turns: all BENCHMARKS, or the named ones."""
    rows = [
        (name, row)
        for name in benchmarks or BENCHMARKS
        for row in BENCHMARKS[name].rows(quick)
        if only in row.name
    ]
    with tree_at(commit) as base:
        trees = {BASE: base, HERE: Tree(ROOT / "src")}
        for tree in trees.values():
            tree.write_bytecode()
        done = [
            [compare(name, BENCHMARKS[name], row, trees, quick) for name, row in rows]
            for _ in range(runs)
        ]
    verdict = verdict_of(done)
    base_text = f"Base: {git('describe', '--always', commit)}\n"
    parts = [line for run in done for line in tables(run)]
    text = "\n".join([provenance(), base_text, *parts, *verdict_lines(verdict, runs)]) + "\n"
    click.echo(text)
    if out:
        out.with_suffix(".md").write_text(text)
    sys.exit(0 if verdict.holds else 1)


if __name__ == "__main__":
    main()
