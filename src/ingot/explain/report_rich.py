"""The report as tables of rich, as wide as the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ingot.explain.report import Report
from ingot.explain.report_tables import ReportTable, report_remarks, report_summary, report_tables


def report_to_rich(report: Report) -> RenderableType:
    parts: list[RenderableType] = [Text(report.name, style="bold"), Text(report_summary(report))]
    for table in report_tables(report):
        parts += [Text(), _table(table)]
    parts += [Text(text, style="yellow") for text in report_remarks(report)]
    return Group(*parts)


def _table(table: ReportTable) -> Table:
    shown = Table(
        title=table.title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        expand=True,
    )
    for k, name in enumerate(table.head):
        if k < table.numbers:
            shown.add_column(name, justify="right", no_wrap=True)
        else:
            shown.add_column(name, overflow="fold", ratio=2)
    for row in table.rows:
        shown.add_row(*map(Text, row))
    return shown
