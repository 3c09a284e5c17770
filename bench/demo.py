"""`make demo`: a transformer and a convolutional network, eager and compiled, side by side in one
table. Every compiled result is compared with eager's before anything is timed; a wrong one ends the
demo. Eager is timed twice: the difference is the noise that a speed-up has to exceed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Protocol

import click
import torch
from rich.console import Console
from rich.table import Table
from torch import nn

import nets
from ingot.bench import timing
from ingot.bench.agreement import TOLERANCE, furthest

BUSY = 0.15
"""Spread of samples above which the machine is too busy for a speed-up to mean anything."""


class Counts(Protocol):
    """The counts that the demo reads from the report of `ingot.explain`."""

    @property
    def kernels(self) -> int: ...
    @property
    def native_calls(self) -> int: ...
    @property
    def library_calls(self) -> int: ...
    @property
    def fallbacks(self) -> int: ...


@dataclass(frozen=True)
class Row:
    name: str
    eager_ms: float
    compiled_ms: float
    control_ms: float
    """Eager timed again, in turns with the other two."""
    spread: float
    """The widest spread among the three."""
    error: float
    """The largest difference from eager, relative to eager's largest value."""
    compile_s: float
    """The first call minus a later call."""
    counts: Counts | None
    """None for a backend other than ingot."""


@click.command()
@click.option("--backend", default="ingot", show_default=True, help="Any backend of torch.compile.")
@click.option(
    "--rounds",
    default=15,
    show_default=True,
    type=click.IntRange(min=2),
    help="Timed calls of each contender.",
)
@click.option("--quick", is_flag=True, help="Small networks: check results, not speed.")
@torch.no_grad()
def main(backend: str, rounds: int, quick: bool) -> None:
    """Compile two networks and compare them with eager."""
    console = Console()
    console.print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, backend {backend}"
    )
    rows = []
    for name, (model, args) in workloads(quick).items():
        with console.status(f"{name} …"):
            rows.append(measure(name, model, args, backend=backend, rounds=rounds))
    console.print(table_of(rows, backend))
    widest = max(row.spread for row in rows)
    if widest > BUSY:
        console.print(
            f"[yellow]times of equal calls differ by {widest:.0%}: this machine is busy, and the "
            "speed-ups above mean nothing. Run again when it is idle.[/]"
        )


def workloads(quick: bool) -> dict[str, nets.Workload]:
    if quick:
        return {
            "BERT, 2 small layers": nets.bert(layers=2, width=128, tokens=32),
            "ResNet, 2 small stages": nets.resnet(blocks=(1, 1), width=16, pixels=64),
        }
    return {"BERT-base, 1×128 tokens": nets.bert(), "ResNet-50, 1×224×224": nets.resnet()}


def measure(
    name: str, model: nn.Module, args: tuple[Any, ...], *, backend: str, rounds: int
) -> Row:
    torch._dynamo.reset()
    compiled = torch.compile(model, backend=backend)
    expected = model(*args)
    start = time.perf_counter()
    actual = compiled(*args)
    first_s = time.perf_counter() - start
    error = checked_error(name, actual, expected)
    times = timing.time_in_turns(
        {
            "eager": lambda: model(*args),
            "compiled": lambda: compiled(*args),
            "control": lambda: model(*args),
        },
        rounds=rounds,
    )
    return Row(
        name=name,
        eager_ms=times["eager"].median_ms,
        compiled_ms=times["compiled"].median_ms,
        control_ms=times["control"].median_ms,
        spread=max(each.spread for each in times.values()),
        error=error,
        compile_s=first_s - times["compiled"].median_ms / 1e3,
        counts=explained(model, args) if backend == "ingot" else None,
    )


def checked_error(name: str, actual: Any, expected: Any) -> float:
    """The difference between two outputs; ends the demo if it is more than rounding."""
    error = furthest(actual, expected)
    if not error <= TOLERANCE:  # a NaN is wrong as well
        raise click.ClickException(
            f"{name}: differs from eager by {error:.3g} of its largest value (> {TOLERANCE:g})"
        )
    return error


def explained(model: nn.Module, args: tuple[Any, ...]) -> Counts:
    import ingot

    return ingot.explain(model, args)


def table_of(rows: list[Row], backend: str) -> Table:
    """A column for each network, so that the table fits a narrow terminal."""
    table = Table(title="medians of calls made in turns")
    table.add_column("")
    for row in rows:
        table.add_column(row.name, justify="right")
    columns = [cells(row, backend) for row in rows]
    for heading in columns[0]:
        table.add_row(heading, *(column[heading] for column in columns))
    return table


def cells(row: Row, backend: str) -> dict[str, str]:
    counts = row.counts
    return {
        "eager ms": f"{row.eager_ms:.2f}",
        f"{backend} ms": f"{row.compiled_ms:.2f}",
        "speed-up": f"{row.eager_ms / row.compiled_ms:.2f}×",
        "eager against itself": f"{row.eager_ms / row.control_ms:.2f}×",
        "spread of samples": f"{row.spread:.0%}",
        "max error": f"{row.error:.1e}",
        "compile seconds": f"{row.compile_s:.2f}",
        "kernels generated": str(counts.kernels) if counts else "–",
        "native kernels": str(counts.native_calls) if counts else "–",
        "library calls": str(counts.library_calls) if counts else "–",
        "ops left to PyTorch": str(counts.fallbacks) if counts else "–",
    }


if __name__ == "__main__":
    main()
