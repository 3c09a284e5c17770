"""`ingot zoo`: the architectures of transformers that `hf:` builds, and some of them compared."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import click

from ingot.cli.words import JSON

AHEAD = "ingot ahead"


@click.group()
def zoo() -> None:
    """List or compare the architectures that hf: can build.

    They come from transformers (pip install 'ingot[hf]'), with random weights: nothing is
    downloaded.
    """


@zoo.command("list")
@click.argument("pattern", required=False, default="")
@JSON
def list_(pattern: str, as_json: bool) -> None:
    """Show model types, and the class that is built for each.

    PATTERN is part of a name.
    """
    from ingot.cli.hugging_face import architectures

    pairs = architectures().items()
    found = {kind: name for kind, name in pairs if pattern.lower() in f"{kind} {name}".lower()}
    if as_json:
        click.echo(json.dumps(found))
        return
    if not found:
        raise click.BadParameter(f"no architecture has {pattern!r} in its name")
    width = max(map(len, found))
    click.echo("\n".join(f"hf:{kind:{width}}  {name}" for kind, name in found.items()))


@zoo.command()
@click.argument("names", nargs=-1, required=True)
@click.option("--layers", type=click.IntRange(1), help="The number of layers, where it is one.")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="As for other commands."
)
@click.option(
    "--rounds", default=7, show_default=True, type=click.IntRange(3), help="Rounds of turns."
)
@JSON
def compare(
    names: tuple[str, ...], layers: int | None, settings: tuple[str, ...], rounds: int,
    as_json: bool,
) -> None:  # fmt: skip
    """Compile architectures, compare them with eager, and show a table.

    Each model runs in processes of its own: one that fails is a row with the reason, and the exit
    code is 1.

    \b
      ingot zoo compare bert gpt2 vit --layers 2
    """
    from ingot.bench.table import aligned
    from ingot.cli.errors import FAILED
    from ingot.cli.hugging_face import transformers
    from ingot.cli.progress import progress

    transformers()
    if layers is not None:
        settings = (f"num_hidden_layers?={layers}", *settings)
    rows = []
    with progress("starting") as step:
        for k, name in enumerate(names):
            step(name, done=k, total=len(names))
            rows.append(_row(name, settings, rounds))
    if as_json:
        click.echo(json.dumps(rows))
    else:
        head = ["architecture", "eager", "ingot", "speed", "to second call", "error"]
        click.echo("\n".join(aligned([head, *map(_cells, rows)])))
        for row in rows:
            if row["why"]:
                click.echo(f"- {row['architecture']}: {row['why']}")
    if any(row["why"] for row in rows):
        raise SystemExit(FAILED)


def _row(name: str, settings: tuple[str, ...], rounds: int) -> dict[str, Any]:
    from ingot.bench.workers import measure_in_turns, network_job
    from ingot.cli.bench import loaded
    from ingot.cli.models import Request

    load = partial(loaded, Request(f"hf:{name.removeprefix('hf:')}", settings=settings))
    measured = measure_in_turns(
        {each: network_job(each, load) for each in ("eager", AHEAD)}, rounds
    )
    times, ready = measured.times, measured.ready.get(AHEAD)
    ours, eager = (times[each].median_ms if each in times else None for each in (AHEAD, "eager"))
    return {
        "architecture": name,
        "eager_ms": eager,
        "ingot_ms": ours,
        "speed": eager / ours if eager and ours else None,
        "compile_s": ready.prepare_s if ready else None,
        "error": ready.error if ready else None,
        "why": next(iter(measured.missing.values()), ""),
    }


def _cells(row: dict[str, Any]) -> list[str]:
    from ingot.bench.panels import time_text
    from ingot.bench.table import number

    times = [row["eager_ms"], row["ingot_ms"]]
    seconds = row["compile_s"]
    return [
        row["architecture"],
        *("–" if ms is None else time_text(ms) for ms in times),
        number(row["speed"], ".2f"),
        "–" if seconds is None else time_text(1e3 * seconds),
        number(row["error"], ".0e"),
    ]
