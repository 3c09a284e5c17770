"""What the cache on disk saves: a second process against the first one, which starts with empty
caches.

Each round is a pair of new processes with one cache folder of their own. Reports for each network
the seconds after capture, that is, in ingot's own part after Dynamo and AOTAutograd hand over the
graph, and those of the whole first call; medians over the rounds. Nothing starts while PyTorch
still traces, so that all of ingot's work is timed.
"""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click

from compile_time import IN_LINE, NETWORKS, Measurement, measure_with, verdict
from ingot.bench.table import aligned
from provenance import provenance

BAR = 1 / 10


@dataclass(frozen=True)
class Pair:
    first: Measurement
    second: Measurement


def measure_pair(name: str) -> Pair:
    with tempfile.TemporaryDirectory() as folder:
        return Pair(measure_with(folder, IN_LINE, name), measure_with(folder, IN_LINE, name))


def measure_in_turns(names: list[str], rounds: int) -> dict[str, list[Pair]]:
    """Round by round, so that slow drift meets every network."""
    found: dict[str, list[Pair]] = {name: [] for name in names}
    for _ in range(rounds):
        for name, pairs in found.items():
            pair = measure_pair(name)
            pairs.append(pair)
            times = f"{pair.first.backend_s:.3f} s, then {pair.second.backend_s:.3f} s"
            click.echo(f"{name}: after capture {times}", err=True)
    return found


def row(name: str, pairs: list[Pair]) -> list[str]:
    first = statistics.median(pair.first.backend_s for pair in pairs)
    second = statistics.median(pair.second.backend_s for pair in pairs)
    ratio = statistics.median(pair.second.backend_s / pair.first.backend_s for pair in pairs)
    whole = statistics.median(pair.second.whole_s / pair.first.whole_s for pair in pairs)
    return [name, f"{first:.3f}", f"{second:.3f}", verdict(ratio, BAR), f"{whole:.3f}"]


@click.command()
@click.option("--only", multiple=True, type=click.Choice(NETWORKS), help="Some networks only.")
@click.option("--rounds", default=5, show_default=True, help="Pairs of processes per network.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the table to PATH.")
def main(only: tuple[str, ...], rounds: int, out: Path | None) -> None:
    """Measure what a second process saves."""
    found = measure_in_turns(list(only or NETWORKS), rounds)
    head = ["after capture, s", "first", "second", "ratio", "ratio of the whole first call"]
    table = aligned([head, *(row(name, pairs) for name, pairs in found.items())])
    text = "\n".join([provenance(), *table]) + "\n"
    click.echo(text)
    if out:
        out.write_text(text)


if __name__ == "__main__":
    main()
