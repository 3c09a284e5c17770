"""`ingot tune module:op`: tunes a dispatched operation and returns the choice as text. Results in
the tuning file are not measured again unless `--again` is given."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ingot.dispatch.declare import Dispatch
from ingot.dispatch.narrow import middle
from ingot.dispatch.ranges import Range
from ingot.dispatch.records import tuning_file
from ingot.errors import IngotError
from ingot.explain.target import find_target, random_input


def tune_command(
    target: str,
    inputs: Sequence[str],
    budget: float | None,
    again: bool,
    report: bool,
    plot: str | None,
) -> str:
    found = find_target(target)
    if not isinstance(found, Dispatch):
        raise click.BadParameter(f"{target} is no dispatched operation")
    try:
        record = found.tune(*_arguments(found, target, inputs), budget=budget, again=again)
        if plot is not None:
            found.plot(plot)
        text = found.report() if report else record.table.merged().as_text()
    except (IngotError, TypeError) as error:
        raise click.UsageError(str(error)) from error
    return f"{text}\n{tuning_file(found) or 'not written to disk'}"


def _arguments(found: Dispatch, target: str, inputs: Sequence[str]) -> Sequence[object]:
    if inputs:
        return [random_input(text) for text in inputs]
    if found.generator is None:
        raise click.UsageError(f"{target} needs arguments: give them with --input")
    first = [part[0] for part in found.ranges or [(Range(*found.span),)]]
    made = found.generator(*(middle(part) for part in first))
    return made if isinstance(made, tuple | list) else (made,)
