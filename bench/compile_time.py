"""Cold compile time: ingot against Inductor, each measurement in a new process with empty caches.

Reports for each network the seconds of the whole first call (without imports and the model's own
construction, minus a steady call) and of the part after AOTAutograd hands over the graph, the
ratios and whether the bars are met. It also reports the whole first call of `aot_eager`, which
compiles nothing: the share of Dynamo and AOTAutograd in every backend. `--layers` compares a
32-layer with a 2-layer transformer, ingot's own part only: repeated layers must cost next to
nothing. In this mode nothing starts while PyTorch still traces, so that all of ingot's work is
timed.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ingot.bench.caches import cold_caches
from ingot.bench.table import met
from provenance import provenance

WHOLE_BAR = 1 / 4
AFTER_AOT_BAR = 1 / 10
LAYERS_BAR = 1.5
IN_LINE = "ingot in line"
NETWORKS = ("mlp", "bert-base", "resnet-50")


@dataclass(frozen=True)
class Measurement:
    """Seconds of one cold compilation."""

    whole_s: float
    """The first call minus a later one."""
    backend_s: float
    """Inside the backend's own compiler, after AOTAutograd."""
    graphs: int
    """The number of graphs handed to the backend."""


def network(name: str) -> tuple[Any, tuple[Any, ...]]:
    import torch

    import nets

    if name == "mlp":
        torch.manual_seed(0)
        layers = [torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 512)]
        layers += [torch.nn.ReLU(), torch.nn.LayerNorm(512), torch.nn.Linear(512, 10)]
        return torch.nn.Sequential(*layers).eval(), (torch.randn(32, 256),)
    if name.startswith("transformer-"):
        return nets.bert(layers=int(name.removeprefix("transformer-")), width=256, tokens=64)
    return nets.bert() if name == "bert-base" else nets.resnet()


class Stopwatch:
    """Adds up the time spent in a wrapped function; nested calls count once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.calls = 0
        self._running = False

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            if self._running:
                return function(*args, **kwargs)
            self._running, start = True, time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self._running = False
                self.seconds += time.perf_counter() - start
                self.calls += 1

        return timed


def watch_backend(backend: str) -> Stopwatch:
    """Times the function that takes a graph from AOTAutograd."""
    watch = Stopwatch()
    if backend == "aot_eager":
        return watch
    if backend == "inductor":
        from torch._inductor import compile_fx

        # compile_fx_inner itself is bound as a default argument; it only calls this function.
        compile_fx._compile_fx_inner = watch.wrap(compile_fx._compile_fx_inner)
        return watch
    importlib.import_module("ingot.backend.dynamo")
    pipeline: Any = importlib.import_module("ingot.pipeline")
    pipeline.compile_graph = watch.wrap(pipeline.compile_graph)
    return watch


def measure_here(backend: str, name: str) -> Measurement:
    """Compiles in this process, whose caches must be empty; "ingot in line" starts nothing
    early."""
    if backend == IN_LINE:
        once = importlib.import_module("ingot.codegen.jit.lazy")
        once.Once.begin = lambda *_: None
        backend = "ingot"
    import torch
    import torch._dynamo
    import torch._inductor.config

    torch.set_num_threads(2)
    torch._inductor.config.fx_graph_cache = False
    model, args = network(name)
    watch = watch_backend(backend)
    with torch.no_grad():
        model(*args)
        compiled: Callable[..., Any] = torch.compile(model, backend=backend)
        start = time.perf_counter()
        compiled(*args)
        first = time.perf_counter() - start
        start = time.perf_counter()
        compiled(*args)
        steady = time.perf_counter() - start
    return Measurement(first - steady, watch.seconds, watch.calls)


def measure_cold(backend: str, name: str) -> Measurement:
    """The same in a new process with its own cache folders."""
    with tempfile.TemporaryDirectory() as folder:
        return measure_with(folder, backend, name)


def measure_with(folder: str, backend: str, name: str) -> Measurement:
    """The same in a new process with the caches in a folder."""
    command = [sys.executable, __file__, "--child", backend, name]
    done = subprocess.run(
        command,
        env={**os.environ, **cold_caches(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    if done.returncode:
        raise click.ClickException(f"{backend} on {name} failed:\n{done.stderr[-3000:]}")
    return Measurement(**json.loads(done.stdout.strip().splitlines()[-1]))


def median_of(measurements: list[Measurement]) -> Measurement:
    return Measurement(
        statistics.median(m.whole_s for m in measurements),
        statistics.median(m.backend_s for m in measurements),
        measurements[0].graphs,
    )


def measure_in_turns(names: list[tuple[str, str]], rounds: int) -> list[Measurement]:
    """The medians for each (backend, network), measured round by round."""
    samples: list[list[Measurement]] = [[] for _ in names]
    for _ in range(rounds):
        for sample, (backend, name) in zip(samples, names, strict=True):
            sample.append(measure_cold(backend, name))
            last = sample[-1]
            click.echo(
                f"{name} {backend}: {last.whole_s:.2f} s, after AOTAutograd {last.backend_s:.3f} s",
                err=True,
            )
    return [median_of(sample) for sample in samples]


def verdict(ratio: float, bar: float) -> str:
    return f"{ratio:.3f} ({met(ratio <= bar)}, bar {bar:g})"


def compare_networks(names: list[str], rounds: int) -> list[str]:
    lines = [
        "| network | inductor s | ingot s | whole: ratio | aot_eager s: ratio "
        "| inductor after AOT s | ingot after AOT s | after AOT: ratio |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name in names:
        contenders = [(backend, name) for backend in ("inductor", "ingot", "aot_eager")]
        theirs, ours, floor = measure_in_turns(contenders, rounds)
        lines.append(
            f"| {name} | {theirs.whole_s:.2f} | {ours.whole_s:.2f} "
            f"| {verdict(ours.whole_s / theirs.whole_s, WHOLE_BAR)} "
            f"| {floor.whole_s:.2f}: {floor.whole_s / theirs.whole_s:.3f} "
            f"| {theirs.backend_s:.3f} | {ours.backend_s:.3f} "
            f"| {verdict(ours.backend_s / theirs.backend_s, AFTER_AOT_BAR)} |"
        )
    return lines


def compare_depths(rounds: int) -> list[str]:
    depths = [(IN_LINE, f"transformer-{layers}") for layers in (2, 32)]
    few, many = measure_in_turns(depths, rounds)
    return [
        "| transformer | ingot's own part s |",
        "|---|--:|",
        f"| 2 layers | {few.backend_s:.3f} |",
        f"| 32 layers | {many.backend_s:.3f} |",
        "",
        f"32 layers against 2: {verdict(many.backend_s / few.backend_s, LAYERS_BAR)}",
    ]


@click.command()
@click.option("--child", nargs=2, type=str, hidden=True, help="Measure in this process.")
@click.option("--layers", is_flag=True, help="32 layers against 2 instead of Inductor.")
@click.option("--only", multiple=True, type=click.Choice(NETWORKS), help="Some networks only.")
@click.option("--rounds", default=3, show_default=True, help="Processes for each measurement.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the table to PATH.")
def main(
    child: tuple[str, str] | None,
    layers: bool,
    only: tuple[str, ...],
    rounds: int,
    out: Path | None,
) -> None:
    """Measure cold compile time."""
    if child:
        click.echo(json.dumps(vars(measure_here(*child))))
        return
    lines = compare_depths(rounds) if layers else compare_networks(list(only or NETWORKS), rounds)
    text = "\n".join([provenance(), *lines]) + "\n"
    click.echo(text)
    if out:
        out.write_text(text)


if __name__ == "__main__":
    main()
