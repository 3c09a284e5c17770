"""`ingot export`: writes a model to files or as printed text, or prints a table of everything that
the dialect cannot take.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from ingot.cli.words import JSON, check_writable, model_words, requested

if TYPE_CHECKING:
    from ingot.cli.models import Workload
    from ingot.emit.problems import Problem
    from ingot.program.program import Program

DIALECTS = {
    "torch": "the torch dialect of torch-mlir",
    "linalg": "linalg on tensors, with arith, math and tensor",
    "tosa": "TOSA",
    "stablehlo": "StableHLO, with CHLO",
    "iree": "a .vmfb that IREE runs, and its weights",
}


def dialects_text() -> str:
    width = max(map(len, DIALECTS))
    return "\n".join(f"  {name:{width}}  {text}" for name, text in DIALECTS.items())


def _complete(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    return [
        CompletionItem(name, help=text)
        for name, text in DIALECTS.items()
        if name.startswith(incomplete)
    ]


@click.command()
@model_words
@click.option(
    "--to", "dialect", metavar="DIALECT", shell_complete=_complete,
    help=f"One of {', '.join(DIALECTS)}; without it, they are listed.",
)  # fmt: skip
@click.option("-o", "--output", help="Output file; without it the text is printed.")
@click.option("--train", is_flag=True, help="Export the training step; the model returns a loss.")
@click.option("--partial", is_flag=True, help="Keep ops that the dialect cannot take as calls.")
@click.option("--verify", is_flag=True, help="Run the result and compare it with eager.")
@JSON
def export(
    dialect: str | None,
    output: str | None,
    train: bool,
    partial: bool,
    verify: bool,
    as_json: bool,
    **words: Any,
) -> None:
    """Write a model as MLIR, its weights beside it.

    \b
      ingot export model.py:make_model --to tosa -o model.mlir --verify
      ingot export hf:bert --set num_hidden_layers=2 --to linalg -o bert.mlir
    """
    import torch

    from ingot.cli.errors import Failure, running
    from ingot.cli.models import build
    from ingot.cli.progress import progress
    from ingot.emit.problems import Problem
    from ingot.errors import EmitError, did_you_mean
    from ingot.frontend import export as exported

    if dialect is None:
        raise click.UsageError(f"missing --to, the dialect:\n{dialects_text()}")
    if dialect not in DIALECTS:
        raise click.BadParameter(f"no dialect {dialect!r}: {did_you_mean(dialect, DIALECTS)}")
    if as_json and output is None:
        raise click.UsageError("--json describes the files: give --output as well")
    request = requested(words)
    if output is not None:
        _check_folder(output)
    with torch.set_grad_enabled(train), progress(f"loading {request.model}") as step:
        workload = build(request)
        with running(workload):
            step("capturing")
            program = exported(workload.model, workload.args, workload.kwargs, train=train)
        step(f"writing {dialect}")
        try:
            found = _write(program, dialect, output, partial, verify, workload)
        except EmitError as error:
            if not error.problems:
                raise
            click.echo(f"{error.headline}: {dialect} cannot take these operations", err=True)
            _print([each for each in error.problems if isinstance(each, Problem)])
            raise Failure(f"{len(error.problems)} operations cannot be exported") from error
    if as_json:
        click.echo(json.dumps(found))
    else:
        click.echo("\n".join([*found["files"], *([found["verified"]] if verify else [])]))


def _check_folder(output: str) -> None:
    from ingot.cli.errors import Failure

    try:
        check_writable(output)
    except click.BadParameter as error:
        raise Failure(error.message) from None


def _write(
    program: Program,
    dialect: str,
    output: str | None,
    partial: bool,
    verify: bool,
    workload: Workload,
) -> dict[str, Any]:
    """Returns what was written; prints the text if there is no output file."""
    if dialect == "iree":
        from ingot.targets.iree import write

        files = list(map(str, write(program, output or "model.vmfb")))
    else:
        module = program.to_mlir(dialect, partial=partial)
        files = [module.text] if output is None else list(map(str, module.save(output)))
    verified = ""
    if verify and dialect != "iree":
        verified = program.verify(dialect, workload.args, workload.kwargs).as_text()
    return {"dialect": dialect, "files": files, "verified": verified}


def _print(problems: Sequence[Problem]) -> None:
    """As wide as the terminal, or wider to keep names and source lines unbroken."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    names = ("operation", "value", "where", "why", "what to do")
    rows = [_row(problem) for problem in problems]
    widths = [max(map(len, column)) for column in zip(names, *rows)][:3]
    console, gaps = Console(stderr=True), 2 * len(names)
    prose = max(24, (console.width - gaps - sum(widths)) // 2)
    widths += [prose, prose]
    console.width = max(console.width, sum(widths) + gaps)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name, width in zip(names, widths):
        table.add_column(name, width=width)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def _row(problem: Problem) -> tuple[str, ...]:
    where = "" if problem.place is None else f"{problem.place.file}:{problem.place.line}"
    return problem.op, problem.value, where, problem.why, problem.hint
