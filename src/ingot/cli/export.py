"""`ingot export`: writes a model to files or as printed text, or prints a table of everything that
the dialect cannot take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
import torch

from ingot.emit.levels import DIALECTS
from ingot.emit.problems import Problem
from ingot.errors import EmitError, IngotError, OptionError, did_you_mean


@dataclass(frozen=True)
class ExportWords:
    """The options of the command line."""

    dialect: str
    output: str | None
    """A file, or None to print."""
    train: bool
    partial: bool
    verify: bool


def export_command(
    model: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], words: ExportWords
) -> bool:
    """Returns whether the export succeeded."""
    try:
        _export(model, args, kwargs, words)
    except IngotError as error:
        problems = error.problems if isinstance(error, EmitError) else ()
        if not problems:
            click.echo(str(error), err=True)
            return False
        click.echo(f"{error.headline}: {words.dialect} cannot take these operations", err=True)
        _print(problems)
        return False
    return True


def _export(
    model: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], words: ExportWords
) -> None:
    from ingot.frontend import export

    known = (*DIALECTS, "iree")
    if words.dialect not in known:
        raise OptionError(f"dialect {words.dialect!r}", hints=[did_you_mean(words.dialect, known)])
    with torch.set_grad_enabled(words.train):
        program = export(model, args, kwargs, train=words.train)
    if words.dialect == "iree":
        from ingot.targets.iree import write

        print("\n".join(map(str, write(program, words.output or "model.vmfb"))))
        return
    module = program.to_mlir(words.dialect, partial=words.partial)
    if words.output is None:
        print(module.text)
    else:
        print("\n".join(map(str, module.save(words.output))))
    if words.verify:
        print(program.verify(words.dialect, args, kwargs).as_text())


def _print(problems: Sequence[object]) -> None:
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


def _row(problem: object) -> tuple[str, ...]:
    assert isinstance(problem, Problem)
    where = "" if problem.place is None else f"{problem.place.file}:{problem.place.line}"
    return problem.op, problem.value, where, problem.why, problem.hint
