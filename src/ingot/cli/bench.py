"""`ingot bench`: a model through ingot, in eager and through the compilers that are installed."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from ingot.cli.words import JSON, check_writable, model_words, requested

if TYPE_CHECKING:
    from ingot.bench.contenders import Call
    from ingot.bench.workers import Job, Measured
    from ingot.bench.workload import Workload
    from ingot.cli.models import Request

BUSY = 1.5
"""Load per core above which threads wait for each other."""
FILE = "ingot file"
"""The contender that is a saved program."""


def _complete(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from ingot.bench.contenders import CONTENDERS

    return [CompletionItem(name) for name in CONTENDERS if name.startswith(incomplete)]


@click.command()
@model_words
@click.option(
    "--only", multiple=True, metavar="CONTENDER", shell_complete=_complete,
    help="One of eager, inductor, inductor frozen, onnxruntime, openvino, ingot, ingot ahead. "
    "Repeatable; by default all that are installed.",
)  # fmt: skip
@click.option(
    "--rounds",
    default=15,
    show_default=True,
    type=click.IntRange(3),
    help="Rounds in which each takes a turn.",
)
@click.option("--threads", type=click.IntRange(1), help="Of every contender; by default PyTorch's.")
@click.option(
    "--plot", "plots", multiple=True, metavar="FILE",
    help="Draw times, speed, compile times and memory: a .svg or .png file. Repeatable.",
)  # fmt: skip
@JSON
def bench(
    only: tuple[str, ...],
    rounds: int,
    threads: int | None,
    plots: tuple[str, ...],
    as_json: bool,
    **words: Any,
) -> None:
    """Time a model against eager and the installed compilers.

    Each contender runs in a process of its own with empty caches. Its results are compared with
    eager's first; one that is wrong or cannot run is listed with the reason. Then all take turns.
    The exit code is 1 if ingot is among those.

    \b
      ingot bench hf:bert --plot bert.svg --plot bert.png
      ingot bench model.py:make_model --only eager --only "ingot ahead"
    """
    import torch

    from ingot.bench.workers import measure_in_turns
    from ingot.cli.errors import FAILED, users_code
    from ingot.cli.models import build
    from ingot.cli.progress import progress
    from ingot.drawing import check_picture

    request = requested(words)
    for path in plots:
        check_picture(path)
        check_writable(path)
    with torch.no_grad(), progress(f"loading {request.model}") as step:
        workload = build(request)
        called = workload.called()
        with users_code(f"calling {called}"):
            workload.call_eager()
        count = threads or torch.get_num_threads()
        jobs, missing = _jobs(request, only, count, workload.eager is not None)
        del workload  # each process has its own
        measured = measure_in_turns(
            jobs, rounds, lambda text, done, total: step(text, done=done, total=total)
        )
    side = SideBySide(called, _machine(count), measured, {**missing, **measured.missing})
    for path in plots:
        side.draw(path)
    click.echo(json.dumps(side.as_data()) if as_json else side.as_text())
    if any(name.startswith("ingot") for name in measured.missing):
        raise SystemExit(FAILED)


def _jobs(
    request: Request, only: Sequence[str], threads: int, is_saved: bool
) -> tuple[dict[str, Job], dict[str, str]]:
    """The contenders, eager first, and why others cannot run."""
    from ingot.bench.contenders import CONTENDERS, why_not
    from ingot.bench.workers import Job, network_job, prepare
    from ingot.errors import did_you_mean

    known = ("eager", FILE) if is_saved else tuple(CONTENDERS)
    for name in only:
        if name not in known:
            raise click.BadParameter(f"--only {name!r}: {did_you_mean(name, known)}")
    chosen = [name for name in known if not only or name in only or name == "eager"]
    missing = {name: why for name in chosen if (why := why_not(name))}
    load = partial(loaded, request)
    jobs = {name: network_job(name, load, threads=threads) for name in chosen if name in CONTENDERS}
    if FILE in chosen:
        opened = partial(prepare, FILE, partial(open_file, request), load)
        jobs[FILE] = Job(opened, threads=threads)
    return {name: job for name, job in jobs.items() if name not in missing}, missing


def loaded(request: Request) -> Workload:
    """In the process of a contender. A saved program is run by PyTorch, op by op."""
    from ingot.bench.workload import by_position
    from ingot.cli.models import build

    found = build(request)
    return by_position(found.eager or found.model, found.args, found.kwargs)


def open_file(request: Request, model: Any, args: tuple[Any, ...], folder: Path) -> Call:
    from ingot.bench.workload import by_position
    from ingot.cli.models import build

    found = build(request)
    saved, _ = by_position(found.model, found.args, found.kwargs)
    return lambda: saved(*args)


def _machine(threads: int) -> str:
    import torch

    from ingot.cli.doctor import cpu_model

    text = f"{cpu_model()}, {threads} threads, torch {torch.__version__}"
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    return f"{text}; a load of {load:.0f} spoils the times" if load > BUSY * cores else text


@dataclass(frozen=True)
class SideBySide:
    """The result of a measurement."""

    title: str
    machine: str
    measured: Measured
    missing: dict[str, str]

    def as_text(self) -> str:
        from ingot.bench.panels import size_text, time_text
        from ingot.bench.table import aligned

        head = ["contender", "median", "spread", "speed", "to second call", "memory", "error"]
        rows = [
            [
                row["contender"],
                time_text(row["median_ms"]),
                f"{row['spread']:.0%}",
                f"{row['speed']:.2f}×",
                time_text(1e3 * row["compile_s"]) if row["compile_s"] else "–",
                size_text(row["memory_bytes"]) if row["memory_bytes"] else "–",
                f"{row['error']:.0e}" if row["error"] else "0",
            ]
            for row in self.as_data()["contenders"]
        ]
        absent = [f"- {name}: {why}" for name, why in self.missing.items()]
        if absent:
            absent = ["", "Did not run:", *absent]
        return "\n".join([self.title, self.machine, "", *aligned([head, *rows]), *absent])

    def as_data(self) -> dict[str, Any]:
        """Milliseconds, seconds and bytes; `error` is relative to eager's largest value."""
        times, ready = self.measured.times, self.measured.ready
        base = next(iter(times.values())).median_ms if times else 0.0
        rows = [
            {
                "contender": name,
                "median_ms": time.median_ms,
                "spread": time.spread,
                "samples_ms": list(time.samples),
                "speed": base / time.median_ms,
                "compile_s": ready[name].prepare_s,
                "memory_bytes": ready[name].memory,
                "error": ready[name].error,
            }
            for name, time in times.items()
        ]
        missing = [{"contender": name, "why": why} for name, why in self.missing.items()]
        return {
            "model": self.title, "machine": self.machine, "contenders": rows, "missing": missing,
        }  # fmt: skip

    def draw(self, path: str) -> None:
        from ingot.bench.panels import draw
        from ingot.cli.errors import Failure

        if not self.measured.times:
            raise Failure(f"nothing was measured: {self.missing}")
        times, ready = self.measured.times, self.measured.ready
        draw(self.title, self.machine, times, ready, self.missing).save(path)
