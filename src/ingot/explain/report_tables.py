"""The report as tables of text, for forms that lay them out themselves: notebooks and rich."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingot.explain.report import CallRow, KernelRow, Report
from ingot.explain.report_text import (
    KINDS,
    bytes_text,
    first_few,
    milliseconds,
    number_of,
    place_text,
)

KERNEL_HEAD = ("ms", "bytes", "GB/s", "regions", "kernel", "modules", "lines")
CALL_HEAD = ("ms", "calls", "op", "why", "modules", "line")


@dataclass(frozen=True)
class ReportTable:
    title: str
    head: tuple[str, ...]
    numbers: int
    """The first columns are numbers."""
    rows: tuple[tuple[str, ...], ...]


def report_tables(report: Report) -> Iterator[ReportTable]:
    """The tables that have rows."""
    if report.kernel_rows:
        yield ReportTable("Kernels", KERNEL_HEAD, 4, tuple(map(_kernel, report.kernel_rows)))
    for kind, title in KINDS.items():
        rows = tuple(_call(row) for row in report.call_rows if row.kind == kind)
        if rows:
            yield ReportTable(title, CALL_HEAD, 2, rows)


def report_summary(report: Report) -> str:
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


def report_remarks(report: Report) -> Sequence[str]:
    return (*report.failures, *report.graph_breaks, *report.uncaptured, *report.notes)


def _kernel(row: KernelRow) -> tuple[str, ...]:
    return (
        f"{row.ms:.3f}",
        "–" if row.bytes is None else bytes_text(row.bytes),
        "–" if row.gb_per_s is None else f"{row.gb_per_s:.1f}",
        str(row.regions),
        f"{', '.join(row.ops)} over {row.domain}",
        first_few(row.modules),
        first_few([place_text(place) for place in row.places]),
    )


def _call(row: CallRow) -> tuple[str, ...]:
    line = "" if row.place is None else place_text(row.place)
    return f"{row.ms:.3f}", str(row.count), row.op, row.reason, first_few(row.modules), line
