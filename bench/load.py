"""What loading a saved program costs: each measurement in a new process, which has neither a
compiler nor the model's source and starts with the file in the page cache.

Reports for each network the seconds of `import torch`, those of `ingot.load` after it (with the
import of ingot), and those up to the first result (with the load); medians over the rounds, and
whether the bars are met.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click

from compile_time import NETWORKS, network
from provenance import provenance
from table import aligned, met

LOAD_BAR = 0.4
FIRST_BAR = 1.0

CHILD = """
import json, sys, time
for name in ("torch_mlir", "transformers"):
    sys.modules[name] = None
start = time.perf_counter()
import torch
torch.set_num_threads(2)
imported = time.perf_counter()
import ingot
exe = ingot.load(sys.argv[1])
loaded = time.perf_counter()
args = torch.load(sys.argv[2], weights_only=True)
ready = time.perf_counter()
with torch.no_grad():
    exe(*args)
first = time.perf_counter() - ready
print(json.dumps([imported - start, loaded - imported, loaded - imported + first]))
"""


@dataclass(frozen=True)
class Measurement:
    """Seconds in one process."""

    import_s: float
    """`import torch`."""
    load_s: float
    first_s: float
    """Load and first call."""


def save(name: str, folder: Path) -> None:
    import torch

    import ingot

    model, args = network(name)
    with torch.no_grad():
        ingot.compile(model, args).save(folder / f"{name}.ingot")
    torch.save(args, folder / f"{name}.pt")


def measure(name: str, folder: Path) -> Measurement:
    files = [str(folder / f"{name}.{suffix}") for suffix in ("ingot", "pt")]
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *files], capture_output=True, text=True, check=True
    )
    return Measurement(*json.loads(done.stdout.splitlines()[-1]))


def measure_in_turns(names: tuple[str, ...], rounds: int) -> dict[str, list[Measurement]]:
    """Round by round, so that slow drift meets every network. The first round is not counted."""
    found: dict[str, list[Measurement]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            save(name, Path(folder))
        for turn in range(rounds + 1):
            for name in names:
                measured = measure(name, Path(folder))
                if turn:
                    found[name].append(measured)
    return found


def row(name: str, measured: list[Measurement]) -> list[str]:
    imports, load, first = (
        statistics.median(getattr(each, field) for each in measured)
        for field in ("import_s", "load_s", "first_s")
    )
    return [
        name, f"{imports:.2f}", f"{load:.3f} {met(load <= LOAD_BAR)}",
        f"{first:.3f} {met(first <= FIRST_BAR)}",
    ]  # fmt: skip


@click.command()
@click.option("--only", multiple=True, type=click.Choice(NETWORKS), help="Some networks only.")
@click.option("--rounds", default=7, show_default=True, help="Processes per network.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the table to PATH.")
def main(only: tuple[str, ...], rounds: int, out: Path | None) -> None:
    """Measure the load of saved programs."""
    measured = measure_in_turns(only or NETWORKS, rounds)
    bars = [f"load (bar {LOAD_BAR})", f"first result (bar {FIRST_BAR})"]
    head = ["network", "import torch", *bars]
    rows = [head, *(row(name, each) for name, each in measured.items())]
    text = "\n".join([*aligned(rows), "", f"Seconds, medians of {rounds}. {provenance()}"])
    click.echo(text)
    if out:
        out.write_text(text)


if __name__ == "__main__":
    main()
