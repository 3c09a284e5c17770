"""What loading a saved program costs: each measurement in a new process, which has neither a
compiler nor the model's source and starts with the file in the page cache.

Reports for each network the seconds of `import torch`, those of `ingot.load` after it (with the
import of ingot), and those up to the first result (with the load); medians over the rounds, and
whether the bars are met. The seconds that the process computed are in parentheses: they tell more
on a loaded machine. Modules are compiled to bytecode in a round that is not counted.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click

from compile_time import NETWORKS, network
from ingot.bench.table import aligned, met
from provenance import provenance

LOAD_BAR = 0.4
FIRST_BAR = 1.0

CHILD = """
import json, sys, time
for name in ("torch_mlir", "transformers"):
    sys.modules[name] = None
def now():
    return time.perf_counter(), time.process_time()
times = [now()]
import torch
torch.set_num_threads(2)
args = torch.load(sys.argv[2], weights_only=True)
times.append(now())
import ingot
exe = ingot.load(sys.argv[1])
times.append(now())
with torch.no_grad():
    exe(*args)
times.append(now())
print(json.dumps(times))
"""


@dataclass(frozen=True)
class Measurement:
    """Seconds in one process: (elapsed, computing)."""

    imports: tuple[float, float]
    """`import torch`."""
    load: tuple[float, float]
    first: tuple[float, float]
    """Load and first call."""

    @staticmethod
    def of(times: list[tuple[float, float]]) -> Measurement:
        start, imported, loaded, done = times
        pairs = (start, imported), (imported, loaded), (imported, done)
        return Measurement(*((b[0] - a[0], b[1] - a[1]) for a, b in pairs))


def save(name: str, folder: Path) -> None:
    import torch

    import ingot

    model, args = network(name)
    with torch.no_grad():
        ingot.compile(model, args).save(folder / f"{name}.ingot")
    torch.save(args, folder / f"{name}.pt")


def measure(name: str, folder: Path) -> Measurement:
    files = [str(folder / f"{name}.{suffix}") for suffix in ("ingot", "pt")]
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *files], capture_output=True, text=True, check=True,
        env={**os.environ, **compiled},
    )  # fmt: skip
    return Measurement.of(json.loads(done.stdout.splitlines()[-1]))


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
    bars = {"imports": None, "load": LOAD_BAR, "first": FIRST_BAR}
    cells = [name]
    for field, bar in bars.items():
        pairs = [getattr(each, field) for each in measured]
        elapsed, computing = (statistics.median(pair[k] for pair in pairs) for k in (0, 1))
        verdict = "" if bar is None else f" {met(elapsed <= bar)}"
        cells.append(f"{elapsed:.3f} ({computing:.3f}){verdict}")
    return cells


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
