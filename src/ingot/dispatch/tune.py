"""Measure which candidate of a dispatched op serves which range. Known results are not measured
again, measuring stops at the budget, and results are written to the tuning file. If all candidates
are disqualified, the reference serves.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from torch.utils._python_dispatch import _disable_current_modes

from ingot.dispatch.declaration import Declaration
from ingot.dispatch.declared import Advance, declared_ranges
from ingot.dispatch.measure import Bench
from ingot.dispatch.ranges import Box, Range, RangeTable
from ingot.dispatch.records import known_record, remember, setting_of
from ingot.dispatch.search import found_ranges
from ingot.dispatch.symbolic_calls import symbolic_call
from ingot.dispatch.tuning_record import Sample, TuningRecord
from ingot.exclusive import exclusively
from ingot.options import Options, make_options


@exclusively()
def record_for(
    dispatch: Declaration,
    bound: Mapping[str, Any],
    *,
    needed: Sequence[Range] | None = None,
    budget: float | None = None,
    again: bool = False,
    options: Options | None = None,
) -> TuningRecord:
    """The record for these arguments, with missing parts measured now. `needed`: the possible
    sizes."""
    options = options or make_options()
    seconds = dispatch.budget if budget is None else budget
    record = known_record(dispatch, bound, options) or TuningRecord(
        setting_of(dispatch, bound), RangeTable(())
    )
    if again:
        record = TuningRecord(record.setting, RangeTable(()))
    missing = _missing(dispatch, record, needed)
    if not missing or len(dispatch.candidates) == 1 or seconds <= 0:
        return record
    measured = _measured(dispatch, bound, missing, seconds, options)
    record = record.joined(measured)
    remember(dispatch, record, options)
    return record


def _missing(
    dispatch: Declaration, record: TuningRecord, needed: Sequence[Range] | None
) -> list[Box] | None:
    """The boxes that are not measured yet; if ranges are searched, all or nothing."""
    declared = dispatch.boxes()
    if declared is None:
        return None if record.table.rows else [(Range(0, None),)]
    known = {row.box for row in record.table.rows}
    wanted = [
        box
        for box in declared
        if needed is None or all(a.meets(b) for a, b in zip(box, needed, strict=True))
    ]
    return [box for box in wanted if box not in known]


def _measured(
    dispatch: Declaration,
    bound: Mapping[str, Any],
    missing: Sequence[Box],
    seconds: float,
    options: Options,
) -> TuningRecord:
    setting = setting_of(dispatch, bound)
    with _disable_current_modes():
        call = symbolic_call(dispatch, bound)
        quiet = replace(options, strict=True, dump="", profile=False, target="")
        bench = Bench(call, quiet, time.perf_counter() + seconds)
        with _progress(dispatch) as advance:
            if dispatch.ranges is None:
                rows, timed = found_ranges(bench, advance)
            else:
                rows, timed = declared_ranges(bench, missing, advance)
    samples = tuple(Sample(t.sizes, t.typical()) for t in timed)
    return TuningRecord(setting, RangeTable(tuple(rows)), samples, dict(bench.disqualified))


@contextmanager
def _progress(dispatch: Declaration) -> Iterator[Advance]:
    """A progress bar in a terminal, nothing elsewhere."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(f"measuring {dispatch.name}", total=1.0)

        def advance(done: float, total: float, text: str) -> None:
            bar.update(task, completed=done / total, description=f"{dispatch.name}: {text}")

        yield advance
