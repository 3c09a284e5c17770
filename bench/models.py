"""Whole networks: ingot against eager, Inductor, Inductor with freezing, ONNX Runtime and OpenVINO.

Prints one table of `nets.NETWORKS`; `--out PATH` writes it to PATH.md and PATH.json as well. Every
contender runs in its own process with empty caches, is checked against eager before anything is
timed, and is timed in turns with the others: float32, two threads, medians of interleaved rounds. A
large matmul is timed in the same rounds.
"""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")  # read when torch loads

import click
import torch

import nets
import plain_nets
from ingot.bench.agreement import TOLERANCE
from ingot.bench.panels import draw
from ingot.bench.workers import THREADS, measure_in_turns, network_job
from model_report import AHEAD, PEERS, Row, as_json, as_markdown, from_json
from provenance import command_text, machine_text

PRODUCT = "large product"


def measure(network: str, rounds: int, plots: Path | None) -> Row:
    build = nets.NETWORKS[network]
    jobs = {name: network_job(name, build) for name in (*PEERS, "ingot", AHEAD)}
    jobs[PRODUCT] = network_job("eager", plain_nets.large_product)
    measured = measure_in_turns(jobs, rounds)
    times = {name: each for name, each in measured.times.items() if name != PRODUCT}
    if plots is not None and times:
        drawing = draw(network, machine_text(), times, measured.ready, measured.missing)
        for suffix in (".svg", ".png"):
            drawing.save(plots / f"{network}{suffix}")
    return Row(
        network=network,
        ms={name: each.median_ms for name, each in times.items()},
        spread=max((each.spread for each in times.values()), default=0.0),
        missing=measured.missing,
        cold_s={n: each.cold_s for n, each in measured.ready.items() if each.cold_s is not None},
        gflop=measured.gflop("eager"),
        gemm_gflops=measured.best_gflops(PRODUCT),
        command=command_text(),
    )


def text_of(rows: list[Row]) -> str:
    commands = dict.fromkeys(row.command for row in rows)
    return (
        f"{', '.join(commands)}\n\n{machine_text()}\n\n"
        f"Milliseconds, medians of interleaved rounds; every result is within {TOLERANCE:g} of the "
        f"largest number in eager's.\n\n{as_markdown(rows)}"
    )


def rows_of(path: Path) -> dict[str, Row]:
    return {row.network: row for row in from_json(path.read_text())} if path.exists() else {}


@click.command()
@click.option("--only", multiple=True, type=click.Choice(list(nets.NETWORKS)), metavar="NAME")
@click.option("--quick", is_flag=True, help="Few rounds.")
@click.option("--out", type=click.Path(path_type=Path), help="Write PATH.md and PATH.json.")
@click.option(
    "--plots", type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A folder for a picture of each network, as SVG and PNG.",
)  # fmt: skip
@click.option("--append", is_flag=True, help="Keep the rows of other networks in PATH.json.")
def main(
    only: tuple[str, ...], quick: bool, out: Path | None, plots: Path | None, append: bool
) -> None:
    """Measure networks against every peer."""
    torch.set_num_threads(THREADS)
    rows = rows_of(out.with_suffix(".json")) if out and append else {}
    for network in only or nets.NETWORKS:
        rows[network] = measure(network, 7 if quick else 21, plots)
        click.echo(" | ".join(as_markdown([rows[network]]).splitlines()[2:3]), err=True)
    ordered = [rows[network] for network in nets.NETWORKS if network in rows]
    text = text_of(ordered)
    click.echo(text)
    if out:
        out.with_suffix(".md").write_text(text)
        out.with_suffix(".json").write_text(as_json(ordered))


if __name__ == "__main__":
    main()
