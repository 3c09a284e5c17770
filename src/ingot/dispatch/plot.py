"""Time against size for every implementation, with the chosen ranges marked, as text for a terminal
and as a drawing. Both axes are logarithmic; a candidate has one colour or mark, in its line and in
its ranges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ingot.dispatch.declaration import Declaration
from ingot.dispatch.ranges import Range
from ingot.dispatch.tuning_record import TuningRecord
from ingot.drawing import PALE, Box, Circle, Drawing, Line, Shape, Text
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
        drawing(dispatch, record).save(path)
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


# -- drawing ---------------------------------------------------------------------------------------


def drawing(dispatch: Declaration, record: TuningRecord) -> Drawing:
    lines = series(record)
    colours = dict(zip(lines, COLOURS * (1 + len(lines) // len(COLOURS))))
    sizes = sorted({size for points in lines.values() for size, _ in points})
    times = [time for points in lines.values() for _, time in points]
    x = Scale(sizes, LEFT, WIDTH - RIGHT)
    y = Scale(times, HEIGHT - BOTTOM, TOP)
    title = f"{dispatch.name}: {record.setting}"
    shapes = (
        Text(LEFT, 18, title, size=14),
        *_range_shapes(record, sizes, x, colours),
        *_axes(dispatch, x, y),
        *(shape for name, points in lines.items() for shape in _curve(points, x, y, colours[name])),
        *_legend(colours),
    )
    return Drawing(WIDTH, HEIGHT, title, shapes)


def _range_shapes(
    record: TuningRecord, sizes: Sequence[int], x: Scale, colours: Mapping[str, str]
) -> Iterator[Shape]:
    """A band behind the lines for each range, in the colour of its candidate."""
    for row in record.table.merged().rows:
        shown = _shown(row.box[0], sizes)
        if shown is None:
            continue
        left, right = x(shown[0]), x(shown[1])
        colour, width = colours.get(row.serves, COLOURS[-1]), max(right - left, 1)
        yield Box(left, TOP, width, HEIGHT - TOP - BOTTOM, colour, 0.13, row.as_text())
        yield Box(left, HEIGHT - BOTTOM, width, 6, colour)


def _axes(dispatch: Declaration, x: Scale, y: Scale) -> Iterator[Shape]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    yield Line([(LEFT, TOP), (LEFT, bottom)])
    yield Line([(LEFT, bottom), (right, bottom)])
    yield Text((LEFT + right) / 2, HEIGHT - 14, dispatch.axes[0].text, "middle", size=12)
    yield Text(LEFT - 6, TOP - 8, "µs", "end", size=12)
    for tick in x.ticks:
        yield Line([(x(tick), bottom + 6), (x(tick), bottom + 10)])
        yield Text(x(tick), bottom + 24, f"{tick:g}", "middle", size=12)
    for tick in y.ticks:
        yield Line([(LEFT, y(tick)), (right, y(tick))], PALE)
        yield Text(LEFT - 6, y(tick) + 4, f"{tick:g}", "end", size=12)


def _curve(points: Sequence[tuple[int, float]], x: Scale, y: Scale, colour: str) -> Iterator[Shape]:
    places = [(x(size), y(time)) for size, time in points]
    yield Line(places, colour, 1.8)
    yield from (Circle(*place, 2.5, colour, colour) for place in places)


def _legend(colours: Mapping[str, str]) -> Iterator[Shape]:
    left = WIDTH - RIGHT + 14
    for k, (name, colour) in enumerate(colours.items()):
        yield Box(left, TOP + 18 * k, 12, 12, colour)
        yield Text(left + 18, TOP + 18 * k + 10, name, size=12)


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
