"""The report as tables for a notebook: HTML without scripts, styles of its own or references. Text
of the program is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from ingot.explain.report import CallRow, KernelRow, Report
from ingot.explain.report_text import (
    KINDS,
    bytes_text,
    first_few,
    milliseconds,
    number_of,
    place_text,
)

MOST_ROWS = 12
NUMBER = ' style="text-align: right"'
TEXT = ' style="text-align: left"'


def report_to_html(report: Report) -> str:
    return "\n".join(_sections(report))


def _sections(report: Report) -> Iterator[str]:
    yield f"<h4>{escape(report.name)}</h4>"
    yield f"<p>{escape(_summary(report))}</p>"
    if report.kernel_rows:
        head = ("ms", "bytes", "GB/s", "regions", "kernel", "modules", "lines")
        yield from _table("Kernels", head, 4, [_kernel(row) for row in report.kernel_rows])
    for kind, title in KINDS.items():
        rows = [_call(row) for row in report.call_rows if row.kind == kind]
        if rows:
            yield from _table(title, ("ms", "calls", "op", "why", "modules", "line"), 2, rows)
    for text in (*report.failures, *report.graph_breaks, *report.notes):
        yield f"<p>{escape(text)}</p>"


def _summary(report: Report) -> str:
    parts = [
        f"{milliseconds(report.run_ms)} ms a call",
        *([f"eager {milliseconds(report.eager_ms)} ms"] if report.eager_ms else []),
        f"compiled in {milliseconds(report.compile_ms.total)} ms",
        number_of(report.graphs, "graph"),
        f"{number_of(report.regions, 'region')} in {number_of(report.kernels, 'kernel')}",
        number_of(report.native_calls, "native kernel"),
        number_of(report.library_calls, "library call"),
        f"{number_of(report.fallbacks, 'op')} left to PyTorch",
    ]
    return " · ".join(parts)


def _kernel(row: KernelRow) -> Sequence[str]:
    return (
        f"{row.ms:.3f}",
        "–" if row.bytes is None else bytes_text(row.bytes),
        "–" if row.gb_per_s is None else f"{row.gb_per_s:.1f}",
        str(row.regions),
        f"{', '.join(row.ops)} over {row.domain}",
        first_few(row.modules),
        first_few([place_text(place) for place in row.places]),
    )


def _call(row: CallRow) -> Sequence[str]:
    line = "" if row.place is None else place_text(row.place)
    return f"{row.ms:.3f}", str(row.count), row.op, row.reason, first_few(row.modules), line


def _table(
    title: str, head: Sequence[str], numbers: int, rows: Sequence[Sequence[str]]
) -> Iterator[str]:
    """The first columns are `numbers`."""
    yield f"<table><caption{TEXT}>{escape(title)}</caption>"
    yield _row("th", head, numbers)
    yield from (_row("td", row, numbers) for row in rows[:MOST_ROWS])
    yield "</table>"
    if len(rows) > MOST_ROWS:
        yield f"<p>and {number_of(len(rows) - MOST_ROWS, 'more row')}</p>"


def _row(tag: str, cells: Sequence[str], numbers: int) -> str:
    styled = (NUMBER if k < numbers else TEXT for k in range(len(cells)))
    row = "".join(f"<{tag}{style}>{escape(c)}</{tag}>" for c, style in zip(cells, styled))
    return f"<tr>{row}</tr>"
