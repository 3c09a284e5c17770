"""`ingot cache`: the cache on disk, without PyTorch, so that the commands start at once."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from ingot.cli.words import JSON

if TYPE_CHECKING:
    from ingot.cache.disk import Stats
    from ingot.cache.misses import Run
    from ingot.codegen.jit.missed_code import Miss

SHOWN = 4
"""Functions of a module that are named."""


@click.group()
def cache() -> None:
    """Show, move or remove compiled code that is kept on disk.

    INGOT_CACHE_DIR is its folder, INGOT_CACHE_MB its largest size in MB.
    """


@cache.command()
@JSON
def stats(as_json: bool) -> None:
    """Show the folder, the size, and what the entries were compiled for."""
    from ingot.cache import transfer
    from ingot.cache.disk import disk_cache
    from ingot.codegen.jit.stored_code import inventory
    from ingot.compilation_cache.missed_programs import count_programs

    found, stored = transfer.stats(), inventory()
    disk = disk_cache()
    programs = 0 if disk is None else count_programs(disk)
    modules = [
        {"compiler": made_for[0], "isa": made_for[1], "modules": count, "bytes": size}
        for made_for, (count, size) in sorted(stored.items())
    ]
    if as_json:
        sizes = asdict(found)
        # of this process, which compiled nothing
        kept = {name: sizes[name] for name in ("folder", "entries", "bytes", "limit", "trouble")}
        click.echo(json.dumps({**kept, "programs": programs, "modules": modules}))
        return
    click.echo("\n".join(_stats_text(found, programs, modules)))


def _stats_text(found: Stats, programs: int, modules: list[dict[str, Any]]) -> Iterator[str]:
    if not found.folder:
        yield f"no cache on disk: {found.trouble}"
        return
    share = found.bytes / found.limit
    yield f"folder   {found.folder}"
    yield f"entries  {found.entries}"
    yield f"size     {_megabytes(found.bytes)} of {_megabytes(found.limit)} ({share:.0%})"
    if programs:
        yield f"programs {programs}"
    for row in modules:
        made_for = f"{row['compiler']}, {isa_text(row['isa'])}"
        yield f"modules  {row['modules']} for {made_for}: {_megabytes(row['bytes'])}"


@cache.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
def clear(yes: bool) -> None:
    """Remove all entries."""
    from ingot.cache import transfer

    found = transfer.stats()
    if not found.folder:
        click.echo(f"no cache on disk: {found.trouble}")
        return
    what = f"{found.entries} entries ({_megabytes(found.bytes)}) in {found.folder}"
    if found.entries and not yes:
        click.confirm(f"remove {what}?", abort=True)
    removed = transfer.clear()
    click.echo(f"removed {removed.entries} entries, {_megabytes(removed.bytes)}")
    if removed.left:
        raise click.ClickException(f"{removed.left} entries in {found.folder} cannot be removed")


@cache.command()
@click.argument("file", type=click.Path(dir_okay=False))
def export(file: str) -> None:
    """Write all entries to FILE, for another machine or container."""
    from ingot.cache import transfer

    click.echo(f"wrote {transfer.export(file)} entries to {file}")


@cache.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
def import_(file: str) -> None:
    """Add the entries of FILE, which `ingot cache export` wrote.

    FILE holds machine code that later runs with your rights: import only what you trust. A damaged
    file is refused as a whole.
    """
    from ingot.cache import transfer
    from ingot.codegen.jit.stored_code import check_entry

    click.echo(f"imported {transfer.import_(file, check_entry)} entries from {file}")


@cache.command()
@click.argument("script", required=False)
@JSON
def why(script: str | None, as_json: bool) -> None:
    """Show why the last process that compiled anything did not find it in the cache.

    SCRIPT is the name of a file: then it is the last process that ran this file. Each module that
    was compiled is compared with the nearest one that was there: the compiler's version, the
    instruction set, the lowering, and the MLIR text. So is each program: versions, machine,
    options, signature, symbols, constants, and the graph. For a program that cannot be kept, the
    reason is shown.
    """
    from ingot.cache.disk import disk_cache
    from ingot.cache.settings import why_no_cache
    from ingot.codegen.jit.missed_code import last_run, misses_of
    from ingot.compilation_cache.missed_programs import program_misses

    disk = disk_cache()
    if disk is None:
        raise click.ClickException(f"no cache on disk: {why_no_cache()}")
    run = last_run(disk, script)
    programs = [] if run is None else program_misses(disk, run)
    misses = [] if run is None else misses_of(disk, _without(run, programs))
    if as_json:
        found = None if run is None else {"script": run.script, "start": run.start}
        listed = {
            "run": found,
            "programs": [asdict(miss) for miss in programs],
            "not_kept": [] if run is None else list(run.refused),
            "misses": [asdict(miss) for miss in misses],
        }
        click.echo(json.dumps(listed))
    elif run is None:
        which = "no process" if script is None else f"no process that ran {script}"
        click.echo(f"{which} is known to have compiled anything that was not in {disk.folder}")
    else:
        click.echo("\n".join(_why_text(run, programs, misses)))


def _without(run: Run, programs: Sequence[Miss]) -> Run:
    """Without the keys of programs."""
    keys = {miss.key for miss in programs}
    return replace(run, keys=tuple(key for key in run.keys if key not in keys))


def _why_text(run: Run, programs: list[Miss], misses: list[Miss]) -> Iterator[str]:
    start = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.start))
    count = len(programs) + len(run.refused)
    what = f"{count} programs and {len(misses)} modules" if count else f"{len(misses)} modules"
    yield f"{run.script or 'a process'}, started {start}: {what} were compiled"
    for why in run.refused:
        yield f"\na program that is not kept: {why}"
    for miss in (*programs, *misses):
        yield ""
        yield f"{miss.key}  {_names(miss.functions)}".rstrip()
        difference = miss.difference
        if difference is None:
            yield f"  nothing to compare: {miss.trouble}"
            continue
        at = f", line {difference.line}" if difference.line else ""
        yield f"  {difference.part}{at} differs from {miss.nearest}"
        yield f"    here   {difference.here}"
        yield f"    there  {difference.there}"


def _names(functions: Sequence[str]) -> str:
    shown = ", ".join(functions[:SHOWN])
    more = len(functions) - SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def isa_text(isa: str) -> str:
    return isa if isa.startswith("x86-64") else f"exactly the CPU {isa}"


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):.1f} MB"
