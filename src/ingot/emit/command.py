"""`ingot export`. Comes in: a model, its arguments and the words of the command line; goes out:
files or printed text, or a table of everything the dialect cannot take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ingot.emit.levels import DIALECTS
from ingot.emit.problems import Problem
from ingot.errors import EmitError, IngotError, OptionError, did_you_mean


def export_command(
    model: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    dialect: str,
    output: str | None,
    train: bool,
    verify: bool,
) -> bool:
    """Whether it was written."""
    from rich.console import Console

    console = Console(stderr=True)
    try:
        _export(model, args, kwargs, dialect, output, train, verify)
    except EmitError as error:
        if not error.problems:
            console.print(str(error), markup=False)
            return False
        console.print(f"{error.headline}: {dialect} cannot take these operations", markup=False)
        console.print(_table(error.problems))
        return False
    except IngotError as error:
        console.print(str(error), markup=False)
        return False
    return True


def _export(
    model: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    dialect: str,
    output: str | None,
    train: bool,
    verify: bool,
) -> None:
    from ingot.capture.export import export

    known = (*DIALECTS, "iree")
    if dialect not in known:
        raise OptionError(f"dialect {dialect!r}", hints=[did_you_mean(dialect, known)])
    with torch.set_grad_enabled(train):
        program = export(model, args, kwargs, train=train)
    if dialect == "iree":
        from ingot.targets.iree import write

        files = write(program, output or "model.vmfb")
        print("\n".join(map(str, files)))
        return
    module = program.to_mlir(dialect)
    if output is None:
        print(module.text)
    else:
        print("\n".join(map(str, module.save(output))))
    if verify:
        print(program.verify(dialect, args, kwargs).as_text())


def _table(problems: Sequence[object]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("operation", "value", "where", "why", "what to do"):
        table.add_column(name, overflow="fold")
    for problem in problems:
        assert isinstance(problem, Problem)
        where = "" if problem.place is None else f"{problem.place.file}:{problem.place.line}"
        row = (problem.op, problem.value, where, problem.why, problem.hint)
        table.add_row(*(Text(cell) for cell in row))
    return table
