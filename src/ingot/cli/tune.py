"""`ingot tune`: measures the implementations of a dispatched operation. Results in the tuning file
are not measured again unless `--again` is given.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ingot.cli.words import INPUT, JSON, ModelType

if TYPE_CHECKING:
    from ingot.dispatch.declare import Dispatch


@click.command()
@click.argument("target", metavar="MODULE:OP", type=ModelType())
@INPUT
@click.option("--budget", type=float, help="Seconds that measuring may take.")
@click.option("--again", is_flag=True, help="Measure again, ignoring results in the tuning file.")
@click.option("--report", is_flag=True, help="Show all measurements.")
@click.option("--plot", type=click.Path(), help="Write time against size: a .svg or .png file.")
@JSON
def tune(
    target: str,
    inputs: tuple[str, ...],
    budget: float | None,
    again: bool,
    report: bool,
    plot: str | None,
    as_json: bool,
) -> None:
    """Measure the implementations of a dispatched operation.

    Without --input the operation's own generator makes the arguments.

    \b
      ingot tune ops.py:total -i 40x8 --report --plot total.svg
    """
    from ingot.cli.inputs import parse_inputs
    from ingot.cli.objects import find_target
    from ingot.cli.progress import progress
    from ingot.dispatch.declare import Dispatch
    from ingot.dispatch.records import tuning_file
    from ingot.drawing import check_picture
    from ingot.errors import IngotError

    if plot is not None:
        check_picture(plot)
    found, _ = find_target(target)
    if not isinstance(found, Dispatch):
        raise click.BadParameter(f"{target} is no dispatched operation")
    given = parse_inputs(inputs)
    args = [*given.args, *given.kwargs.values()] if inputs else _generated(found, target)
    try:
        with progress(f"measuring {found.name}"):
            record = found.tune(*args, budget=budget, again=again)
        if plot is not None:
            found.plot(plot)
    except (IngotError, TypeError) as error:
        raise click.UsageError(str(error)) from error
    rows, file = record.table.merged(), tuning_file(found)
    if as_json:
        chosen = [row.as_text() for row in rows.rows]
        click.echo(
            json.dumps({"setting": record.setting, "chosen": chosen, "file": str(file or "")})
        )
        return
    click.echo(found.report() if report else rows.as_text())
    click.echo(file or "not written to disk")


def _generated(found: Dispatch, target: str) -> Sequence[Any]:
    from ingot.dispatch.narrow import middle
    from ingot.dispatch.ranges import Range

    if found.generator is None:
        raise click.UsageError(f"{target} needs arguments: give them with --input")
    first = [part[0] for part in found.ranges or [(Range(*found.span),)]]
    made = found.generator(*(middle(part) for part in first))
    return made if isinstance(made, tuple | list) else (made,)
