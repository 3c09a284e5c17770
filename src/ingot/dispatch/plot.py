"""Time against size for every implementation, with the chosen ranges marked, as text for a terminal
and as SVG. Both axes are logarithmic; a candidate has the same colour or mark in its line and in
its ranges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from ingot.dispatch.declaration import Declaration
from ingot.dispatch.ranges import Range
from ingot.dispatch.tuning_record import TuningRecord
from ingot.errors import DispatchError

COLOURS = ("#4c72b0", "#dd8452", "#55a868", "#c44e52", "#8172b3", "#937860", "#da8bc3", "#8c8c8c")
MARKS = "ox+*#@%&"
WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 180, 40, 60
COLUMNS, LINES = 72, 18


def plot(dispatch: Declaration, path: str | Path | None) -> str:
    if len(dispatch.axes) != 1:
        raise DispatchError(
            f"{dispatch.name} depends on {len(dispatch.axes)} sizes: a plot shows one",
            hints=["report() shows the times as a table"],
        )
    measured = [record for record in dispatch.records.values() if record.samples]
    if not measured:
        raise DispatchError(
            f"nothing is measured of {dispatch.name}",
            hints=[f"call {dispatch.name}.tune(...) first"],
        )
    record = measured[-1]
    if path is not None:
        Path(path).write_text(svg(dispatch, record))
    return text_plot(dispatch, record)


def series(record: TuningRecord) -> dict[str, list[tuple[int, float]]]:
    """The (size, microseconds) pairs of each candidate."""
    found: dict[str, list[tuple[int, float]]] = {}
    for sample in sorted(record.samples, key=lambda s: s.sizes):
        for name, seconds in sample.seconds.items():
            found.setdefault(name, []).append((sample.sizes[0], seconds * 1e6))
    return found


class Scale:
    """A logarithmic axis that maps values to positions."""

    def __init__(self, values: Sequence[float], start: float, end: float):
        self.low, self.high = math.log(min(values)), math.log(max(values))
        self.start, self.end = start, end
        self.ticks = _ticks(min(values), max(values))

    def __call__(self, value: float) -> float:
        share = (math.log(value) - self.low) / (self.high - self.low or 1.0)
        return self.start + share * (self.end - self.start)


def _ticks(low: float, high: float) -> list[float]:
    """Round values between the two; only powers of ten if there are more than eight."""
    steps = [m * 10.0**e for e in range(-3, 10) for m in (1, 2, 5)]
    inside = [n for n in steps if low <= n <= high]
    return inside if len(inside) <= 8 else [n for n in inside if f"{n:e}"[0] == "1"]


def _shown(part: Range, sizes: Sequence[int]) -> tuple[int, int] | None:
    """The visible part of a range."""
    low = max(part.low, sizes[0])
    high = sizes[-1] if part.high is None else min(part.high + 1, sizes[-1])
    return (low, high) if low <= high else None


# -- SVG -------------------------------------------------------------------------------------------


def svg(dispatch: Declaration, record: TuningRecord) -> str:
    lines = series(record)
    colours = dict(zip(lines, COLOURS * (1 + len(lines) // len(COLOURS))))
    sizes = sorted({size for points in lines.values() for size, _ in points})
    times = [time for points in lines.values() for _, time in points]
    x = Scale(sizes, LEFT, WIDTH - RIGHT)
    y = Scale(times, HEIGHT - BOTTOM, TOP)
    body = [
        *_svg_ranges(record, sizes, x, colours),
        *_svg_axes(dispatch, x, y),
        *(_svg_line(points, x, y, colours[name]) for name, points in lines.items()),
        *_svg_legend(colours),
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
            f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
            f'<text x="{LEFT}" y="18" font-size="14">{escape(dispatch.name)}: '
            f"{escape(record.setting)}</text>",
            *body,
            "</svg>",
            "",
        ]
    )


def _svg_ranges(
    record: TuningRecord, sizes: Sequence[int], x: Scale, colours: Mapping[str, str]
) -> list[str]:
    """A band behind the lines for each range, in the colour of its candidate."""
    found = []
    for row in record.table.merged().rows:
        shown = _shown(row.box[0], sizes)
        if shown is None:
            continue
        left, right = x(shown[0]), x(shown[1])
        colour = colours.get(row.serves, COLOURS[-1])
        height = HEIGHT - TOP - BOTTOM
        found.append(
            f'<rect x="{left:.1f}" y="{TOP}" width="{max(right - left, 1):.1f}" height="{height}" '
            f'fill="{colour}" fill-opacity="0.13"><title>{escape(row.as_text())}</title></rect>'
        )
        found.append(
            f'<rect x="{left:.1f}" y="{HEIGHT - BOTTOM}" width="{max(right - left, 1):.1f}" '
            f'height="6" fill="{colour}"/>'
        )
    return found


def _svg_axes(dispatch: Declaration, x: Scale, y: Scale) -> list[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    found = [
        f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="black"/>',
        f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 14}" text-anchor="middle">'
        f"{escape(dispatch.axes[0].text)}</text>",
        f'<text x="16" y="{(TOP + bottom) / 2}" text-anchor="middle" '
        f'transform="rotate(-90 16 {(TOP + bottom) / 2})">µs</text>',
    ]
    for tick in x.ticks:
        found.append(f'<path d="M{x(tick):.1f} {bottom + 6}v4" stroke="black"/>')
        found.append(
            f'<text x="{x(tick):.1f}" y="{bottom + 24}" text-anchor="middle">{tick:g}</text>'
        )
    for tick in y.ticks:
        found.append(f'<path d="M{LEFT} {y(tick):.1f}H{right}" stroke="#dddddd"/>')
        found.append(
            f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
        )
    return found


def _svg_line(points: Sequence[tuple[int, float]], x: Scale, y: Scale, colour: str) -> str:
    path = " ".join(f"{x(size):.1f},{y(time):.1f}" for size, time in points)
    dots = "".join(
        f'<circle cx="{x(size):.1f}" cy="{y(time):.1f}" r="2.5" fill="{colour}"/>'
        for size, time in points
    )
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>{dots}'


def _svg_legend(colours: Mapping[str, str]) -> list[str]:
    found = []
    for k, (name, colour) in enumerate(colours.items()):
        top = TOP + 18 * k
        left = WIDTH - RIGHT + 14
        found.append(f'<rect x="{left}" y="{top}" width="12" height="12" fill="{colour}"/>')
        found.append(f'<text x="{left + 18}" y="{top + 10}">{escape(name)}</text>')
    return found


# -- text ------------------------------------------------------------------------------------------


def text_plot(dispatch: Declaration, record: TuningRecord) -> str:
    lines = series(record)
    marks = dict(zip(lines, MARKS * (1 + len(lines) // len(MARKS))))
    sizes = sorted({size for points in lines.values() for size, _ in points})
    times = [time for points in lines.values() for _, time in points]
    x, y = Scale(sizes, 0, COLUMNS - 1), Scale(times, LINES - 1, 0)
    rows = [[" "] * COLUMNS for _ in range(LINES)]
    for name, points in lines.items():
        for size, time in points:
            rows[round(y(time))][round(x(size))] = marks[name]
    band = [" "] * COLUMNS
    for row in record.table.merged().rows:
        shown = _shown(row.box[0], sizes)
        if shown is not None:
            first, last = round(x(shown[0])), round(x(shown[1]))
            band[first : last + 1] = marks.get(row.serves, "?") * (last + 1 - first)
    labels = {round(y(tick)): f"{tick:g}" for tick in y.ticks}
    legend = "  ".join(f"{mark} {name}" for name, mark in marks.items())
    ends = f"{sizes[0]}{dispatch.axes[0].text.center(COLUMNS - len(f'{sizes[0]}{sizes[-1]}'))}"
    return "\n".join(
        [
            f"{'µs':>9}",
            *(f"{labels.get(k, ''):>9} |{''.join(row).rstrip()}" for k, row in enumerate(rows)),
            f"{'':>9} +{'-' * COLUMNS}",
            f"{'chosen':>9}  {''.join(band)}",
            f"{'':>9}  {ends}{sizes[-1]}",
            f"{'':>9}  {legend}",
        ]
    )
