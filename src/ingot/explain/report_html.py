"""The report as tables for a notebook: HTML without scripts, styles of its own or references. Text
of the program is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from ingot.explain.report import Report
from ingot.explain.report_tables import ReportTable, report_remarks, report_summary, report_tables
from ingot.explain.report_text import number_of

MOST_ROWS = 12
NUMBER = ' style="text-align: right"'
TEXT = ' style="text-align: left"'


def report_to_html(report: Report) -> str:
    return "\n".join(_sections(report))


def _sections(report: Report) -> Iterator[str]:
    yield f"<h4>{escape(report.name)}</h4>"
    yield f"<p>{escape(report_summary(report))}</p>"
    for table in report_tables(report):
        yield from _table(table)
    yield from (f"<p>{escape(text)}</p>" for text in report_remarks(report))


def _table(table: ReportTable) -> Iterator[str]:
    yield f"<table><caption{TEXT}>{escape(table.title)}</caption>"
    yield _row("th", table.head, table.numbers)
    yield from (_row("td", row, table.numbers) for row in table.rows[:MOST_ROWS])
    yield "</table>"
    if len(table.rows) > MOST_ROWS:
        yield f"<p>and {number_of(len(table.rows) - MOST_ROWS, 'more row')}</p>"


def _row(tag: str, cells: Sequence[str], numbers: int) -> str:
    styled = (NUMBER if k < numbers else TEXT for k in range(len(cells)))
    row = "".join(f"<{tag}{style}>{escape(c)}</{tag}>" for c, style in zip(cells, styled))
    return f"<tr>{row}</tr>"
