"""`ingot compile`: a model to a file of machine code."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ingot.cli.words import (
    JSON,
    OPTION,
    check_writable,
    compiler_options,
    model_words,
    requested,
)

if TYPE_CHECKING:
    from ingot.cli.models import Workload
    from ingot.runtime.executable import Executable

DYNAMIC = click.option(
    "--dynamic",
    multiple=True,
    metavar="NAME=INPUT.DIM[,…][:MIN..MAX]",
    help="A size that varies, such as batch=x.0:1..64. Several inputs share it after commas.",
)


@click.command("compile")
@model_words
@click.option("-o", "--output", help="The file; by default the name of the model with .ingot.")
@click.option(
    "--c", "c_folder", metavar="FOLDER",
    help="Write the program for C to a folder: library, header, weights, example. Then a file is "
    "written only with --output.",
)  # fmt: skip
@DYNAMIC
@click.option(
    "--target", "targets", multiple=True, metavar="LEVEL",
    help="An instruction set to compile for: x86-64-v2, -v3 or -v4. Repeatable; by default the "
    "highest that this machine supports.",
)  # fmt: skip
@OPTION
@click.option("--check/--no-check", default=True, help="Compare a call with eager first.")
@JSON
def compile_(
    output: str | None,
    c_folder: str | None,
    dynamic: tuple[str, ...],
    targets: tuple[str, ...],
    options: tuple[str, ...],
    check: bool,
    as_json: bool,
    **words: Any,
) -> None:
    """Compile a model ahead of time and write it to a file.

    The file holds the program, its weights and machine code. `ingot run` and `ingot.load` read it
    without the model's source and without a compiler.

    \b
      ingot compile model.py:make_model -o model.ingot
      ingot compile model.py:Net -i x=8x128 --dynamic batch=x.0:1..64
      ingot compile hf:bert --set num_hidden_layers=2 --target x86-64-v3
      ingot compile model.py:make_model --c folder
    """
    import torch

    from ingot.cli import results
    from ingot.cli.errors import running
    from ingot.cli.models import build
    from ingot.cli.progress import progress

    request = requested(words)
    path = default_output(request.model) if output is None and c_folder is None else output
    for each in filter(None, (path, c_folder)):
        check_writable(each)
    chosen = compiler_options(options)
    with torch.no_grad(), progress(f"loading {request.model}") as step:
        workload = build(request)
        if workload.eager is not None:
            raise click.UsageError(f"{request.model} is compiled already")
        with running(workload):
            step("compiling")
            start = time.perf_counter()
            exe = compiled(workload, dynamic, chosen)
            seconds = time.perf_counter() - start
            verdict = ""
            if check:
                step("comparing with eager")
                verdict = results.check(results.compared(*results.call_both(exe, workload)))
            step("writing")
            if path is not None:
                exe.save(path, targets=targets or None)
            if c_folder is not None:
                exe.save_c(c_folder, targets=targets or None)
    size = 0 if path is None else os.path.getsize(path)
    made = {"file": path, "bytes": size, "folder": c_folder, "seconds": seconds, **contents(exe)}
    if as_json:
        click.echo(json.dumps({**made, "checked": check}))
        return
    if path is not None:
        click.echo(f"{path}: {size / 1e6:.1f} MB, compiled in {seconds:.1f} s")
    if c_folder is not None:
        click.echo(f"{c_folder}: {', '.join(sorted(os.listdir(c_folder)))}")
    click.echo(f"{made['kernels']} kernels, {made['eager_steps']} steps that call PyTorch")
    if verdict:
        click.echo(verdict)


def compiled(workload: Workload, dynamic: tuple[str, ...], options: dict[str, Any]) -> Executable:
    import ingot
    from ingot.cli.dynamic import dynamic_shapes

    shapes = dynamic_shapes(dynamic, workload)
    return ingot.compile(
        workload.model, workload.args, workload.kwargs, dynamic_shapes=shapes, options=options
    )


def default_output(model: str) -> str:
    """`folder/net.py:make_model` is `make_model.ingot`, `hf:bert` is `bert.ingot`."""
    name = model.rpartition(":")[2].partition("(")[0].rstrip(os.sep)
    return f"{Path(name.rpartition('.')[2] if os.sep not in name else name).name}.ingot"


def contents(exe: Executable) -> dict[str, int]:
    """How much of a program is native."""
    from ingot.plan.ir import Eager, walk

    plan = getattr(getattr(exe, "compiled", None), "plan", None)
    if plan is None:
        return {"kernels": 0, "eager_steps": 0}
    eager = sum(isinstance(op, Eager) for op in walk(plan.ops))
    return {"kernels": len(plan.kernels), "eager_steps": eager}
