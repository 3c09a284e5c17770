"""Draws docs/images/networks.svg from bench/RESULTS.md and prints the summary table of the README.

    python bench/chart.py [--png PATH]

Both contain only values of the file, or means of them; tests/docs/test_results.py compares the
committed chart and the README's table with the output of this script.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from ingot.bench.table import aligned, geometric_mean
from ingot.drawing import INK, PALE, Circle, Drawing, Line, Polygon, Shape, Text

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
CHART = HERE.parent / "docs" / "images" / "networks.svg"
HEAD = "| network, ms"

Times = dict[str, float]
"""Column to value; a column without a value is missing."""


@dataclass(frozen=True)
class Series:
    name: str
    time: Callable[[Times], float | None]
    colour: str
    radius: float
    is_open: bool = False


def _column(*names: str) -> Callable[[Times], float | None]:
    """The smallest value of these columns."""

    def time(row: Times) -> float | None:
        return min((row[name] for name in names if name in row), default=None)

    return time


INDUCTOR = "Inductor (faster of default and frozen)"
SERIES = (
    Series("ingot, torch.compile", _column("ingot"), "#d55e00", 6.5),
    Series("ingot, ahead of time", _column("ingot ahead"), "#d55e00", 6.5, is_open=True),
    Series(INDUCTOR, _column("inductor", "inductor frozen"), "#777777", 3.8),
    Series("ONNX Runtime", _column("onnxruntime"), "#0072b2", 3.8),
    Series("OpenVINO", _column("openvino"), "#009e73", 3.8),
)
"""In drawing order: small dots lie on large ones."""
PEERS = {
    "PyTorch eager": "eager",
    "Inductor": "inductor",
    "Inductor, frozen": "inductor frozen",
    "ONNX Runtime": "onnxruntime",
    "OpenVINO": "openvino",
}


def networks(text: str) -> dict[str, Times]:
    """The rows of the table of networks."""
    lines = text[text.index(HEAD) :].splitlines()
    names = _cells(lines[0])
    found = {}
    for line in lines[2 : lines.index("")]:
        cells = _cells(line)
        pairs = zip(names[1:], cells[1:], strict=True)
        found[cells[0]] = {name: float(cell) for name, cell in pairs if cell != "–"}
    return found


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


# -- the table -------------------------------------------------------------------------------------


def summary(rows: dict[str, Times]) -> str:
    """Speed of ingot relative to each peer."""
    table = [["compared with", "networks", "through `torch.compile`", "ahead of time"]]
    for name, column in PEERS.items():
        ran = [row for row in rows.values() if column in row]
        ratios = [[row[column] / row[own] for row in ran] for own in ("ingot", "ingot ahead")]
        table.append([name, str(len(ran)), *map(_ratio, ratios)])
    fastest = [
        [row[column] for row in rows.values()]
        for column in ("fastest peer / ingot", "fastest peer / ahead")
    ]
    table.append(
        ["fastest of these in each row, without eager", str(len(rows)), *map(_ratio, fastest)]
    )
    return "\n".join(aligned(table))


def _ratio(values: list[float]) -> str:
    return f"{geometric_mean(values):.2f}× ({min(values):.2f} to {max(values):.2f})"


# -- the chart -------------------------------------------------------------------------------------

WIDTH, LEFT, RIGHT, TOP, ROW = 800, 170, 24, 74, 24
LOW, HIGH = 0.5, 4.5
TICKS = (0.5, 0.7, 1, 1.4, 2, 2.8, 4)
TITLE = "Speed of each compiler relative to PyTorch eager, by network"


def chart(rows: dict[str, Times]) -> Drawing:
    """Speed relative to eager on a logarithmic axis, one row for each network."""
    bottom = TOP + ROW * len(rows)
    shapes: list[Shape] = [*_legend(), *_axis(bottom)]
    for k, (name, row) in enumerate(rows.items()):
        shapes += _row(name, row, TOP + ROW * k + ROW / 2)
    middle, caption = (LEFT + WIDTH - RIGHT) / 2, "speed relative to eager (log scale)"
    shapes.append(Text(middle, bottom + 38, caption, "middle"))
    return Drawing(WIDTH, bottom + 46, TITLE, tuple(shapes))


def _x(speed: float) -> float:
    share = math.log(speed / LOW) / math.log(HIGH / LOW)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _legend() -> Iterator[Shape]:
    places = ((16, 24), (200, 24), (16, 48), (330, 48), (460, 48))
    for series, (x, y) in zip(SERIES, places, strict=True):
        yield _dot(series, x, y)
        yield Text(x + 12, y + 4.5, series.name)


def _axis(bottom: float) -> Iterator[Shape]:
    for tick in TICKS:
        x = _x(tick)
        yield Line([(x, TOP), (x, bottom)], *((INK, 1.2) if tick == 1 else (PALE, 1)))
        yield Text(x, bottom + 18, f"{tick:g}×", "middle")


def _row(name: str, row: Times, y: float) -> Iterator[Shape]:
    yield Text(LEFT - 14, y + 4.5, name, "end")
    speeds = [(series, row["eager"] / time) for series in SERIES if (time := series.time(row))]
    inside = [_x(max(speed, LOW)) for _, speed in speeds]
    yield Line([(min(inside), y), (max(inside), y)], "#cccccc", 2)
    for series, speed in speeds:
        if speed >= LOW:
            yield _dot(series, _x(speed), y)
            continue
        x = _x(LOW)
        yield Polygon([(x + 8, y - 5), (x, y), (x + 8, y + 5)], series.colour)
        yield Text(x + 12, y - 3, f"{speed:.2f}×", fill=series.colour)


def _dot(series: Series, x: float, y: float) -> Circle:
    if series.is_open:
        return Circle(x, y, series.radius, None, series.colour, 2)
    return Circle(x, y, series.radius, series.colour)


@click.command()
@click.option("--png", type=click.Path(path_type=Path), help="Write the chart there as well.")
def main(png: Path | None) -> None:
    """Draw the chart of the networks and print the summary table of the README."""
    rows = networks(RESULTS.read_text())
    CHART.parent.mkdir(parents=True, exist_ok=True)
    chart(rows).save(CHART)
    if png:
        chart(rows).save(png)
    click.echo(summary(rows))


if __name__ == "__main__":
    main()
