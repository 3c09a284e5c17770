"""`ingot run`: one call of a compiled model."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from ingot.cli.words import (
    JSON,
    OPTION,
    check_writable,
    compiler_options,
    model_words,
    requested,
)


@click.command()
@model_words
@click.option("-o", "--output", help="Write the results: a .pt, .npy or .safetensors file.")
@click.option("--check", is_flag=True, help="Compare with eager; a difference is exit code 1.")
@OPTION
@JSON
def run(
    output: str | None, check: bool, options: tuple[str, ...], as_json: bool, **words: Any
) -> None:
    """Compile a model, or load a saved one, and call it once.

    Prints the results' dtypes, shapes and ranges. A saved model makes its own random inputs unless
    --input gives others.

    \b
      ingot run model.ingot --check
      ingot run model.py:net -i x=photo.npy -o result.npy
    """
    import torch

    from ingot.cli import results
    from ingot.cli.compile import compiled
    from ingot.cli.errors import running
    from ingot.cli.models import build
    from ingot.cli.progress import progress

    request = requested(words)
    if output is not None:
        results.check_file(output)
        check_writable(output)
    chosen = compiler_options(options)
    with torch.no_grad(), progress(f"loading {request.model}") as step:
        workload = build(request)
        with running(workload):
            step("compiling")
            exe = workload.model
            if workload.eager is None:
                exe = compiled(workload, (), chosen)
            verdict = ""
            if check:
                step("comparing with eager")
                verdict = results.check(results.compared(*results.call_both(exe, workload)))
            step("running")
            start = time.perf_counter()
            made = exe(*workload.args, **workload.kwargs)
            seconds = time.perf_counter() - start
    if output is not None:
        results.write(made, output)
    if as_json:
        data = {"seconds": seconds, "results": results.as_data(made), "checked": check}
        click.echo(json.dumps(data))
        return
    click.echo("\n".join(results.lines_of(made)))
    if verdict:
        click.echo(verdict)
    if output is not None:
        click.echo(f"wrote {output}")
