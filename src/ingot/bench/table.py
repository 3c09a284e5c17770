"""Values as text: markdown tables with aligned columns, dashes for missing values, means of ratios,
and whether a bar is met.
"""

from __future__ import annotations

import math


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def met(holds: bool) -> str:
    return "met" if holds else "NOT met"


def aligned(rows: list[list[str]]) -> list[str]:
    """Markdown rows in columns of equal width: the first left-aligned, the others right-aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        first, *rest = (
            cell.ljust(w) if i == 0 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        lines.append(f"| {' | '.join([first, *rest])} |")
    rule = "|".join("-" * (w + 1) + ("-" if i == 0 else ":") for i, w in enumerate(widths))
    return [lines[0], f"|{rule}|", *lines[1:]]
