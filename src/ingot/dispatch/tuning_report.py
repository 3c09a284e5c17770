"""Measurements and choices as text: a table of times for each setting, the ranges with their
candidates and confidence, and the disqualified candidates."""

from __future__ import annotations

from ingot.dispatch.declaration import Declaration
from ingot.dispatch.plot import text_plot
from ingot.dispatch.ranges import RangeTable, box_text
from ingot.dispatch.tuning_record import TuningRecord


def report_text(dispatch: Declaration) -> str:
    parts = [f"{dispatch.name} on {', '.join(axis.text for axis in dispatch.axes)}"]
    if dispatch.pinned is not None:
        parts += ["pinned:", *_rows(dispatch.pinned)]
    if not dispatch.records:
        parts.append("nothing is measured")
    for record in dispatch.records.values():
        parts += ["", record.setting, *_record(dispatch, record)]
    return "\n".join(parts)


def _record(dispatch: Declaration, record: TuningRecord) -> list[str]:
    lines = _rows(record.table.merged())
    lines += [f"  {name} is not used: {why}" for name, why in record.disqualified.items()]
    if record.samples:
        lines += ["", *_times(record)]
    if record.samples and len(dispatch.axes) == 1:
        lines += ["", text_plot(dispatch, record)]
    return lines


def _rows(table: RangeTable) -> list[str]:
    return [
        f"  {box_text(row.box)}: {row.serves}, {row.why} (confidence {row.confidence:.0%})"
        for row in table.rows
    ]


def _times(record: TuningRecord) -> list[str]:
    """Microseconds, with the fastest marked."""
    names = list(dict.fromkeys(name for sample in record.samples for name in sample.seconds))
    cells = [["sizes", *names]]
    for sample in record.samples:
        best = min(sample.seconds.values())
        row = [" × ".join(map(str, sample.sizes))]
        for name in names:
            seconds = sample.seconds.get(name)
            mark = "*" if seconds == best else " "
            row.append("–  " if seconds is None else f"{seconds * 1e6:.1f} {mark}")
        cells.append(row)
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    return ["  " + "  ".join(c.rjust(w) for c, w in zip(row, widths)) for row in cells]
