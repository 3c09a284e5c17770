"""Draws docs/images/networks.svg from bench/RESULTS.md and prints the summary table of the README.

    python bench/chart.py

Both contain only values of the file, or means of them; tests/docs/test_results.py compares the
committed chart and the README's table with the output of this script.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from table import aligned, geometric_mean

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
FONT = "font-family='Helvetica, Arial, sans-serif'"


def chart(rows: dict[str, Times]) -> str:
    """Speed relative to eager on a logarithmic axis, one row for each network."""
    bottom = TOP + ROW * len(rows)
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{bottom + 46}' "
        f"viewBox='0 0 {WIDTH} {bottom + 46}' {FONT} font-size='13' role='img' "
        "aria-label='Speed of each compiler relative to PyTorch eager, by network'>",
        f"<rect width='{WIDTH}' height='{bottom + 46}' fill='#ffffff'/>",
        *_legend(),
        *_axis(bottom),
    ]
    for k, (name, row) in enumerate(rows.items()):
        parts += _row(name, row, TOP + ROW * k + ROW / 2)
    parts += [
        _text(
            (LEFT + WIDTH - RIGHT) / 2, bottom + 38, "speed relative to eager (log scale)", "middle"
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _x(speed: float) -> float:
    share = math.log(speed / LOW) / math.log(HIGH / LOW)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _text(x: float, y: float, text: str, anchor: str = "start", colour: str = "#333333") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{colour}'>{text}</text>"


def _legend() -> Iterator[str]:
    places = ((16, 24), (200, 24), (16, 48), (330, 48), (460, 48))
    for series, (x, y) in zip(SERIES, places, strict=True):
        yield _dot(series, x, y)
        yield _text(x + 12, y + 4.5, series.name)


def _axis(bottom: float) -> Iterator[str]:
    for tick in TICKS:
        x = _x(tick)
        colour, width = ("#333333", 1.2) if tick == 1 else ("#dddddd", 1)
        yield (
            f"<line x1='{x:.1f}' y1='{TOP}' x2='{x:.1f}' y2='{bottom}' stroke='{colour}' "
            f"stroke-width='{width}'/>"
        )
        yield _text(x, bottom + 18, f"{tick:g}×", "middle")


def _row(name: str, row: Times, y: float) -> Iterator[str]:
    yield _text(LEFT - 14, y + 4.5, name, "end")
    speeds = [(series, row["eager"] / time) for series in SERIES if (time := series.time(row))]
    inside = [_x(max(speed, LOW)) for _, speed in speeds]
    yield (
        f"<line x1='{min(inside):.1f}' y1='{y:.1f}' x2='{max(inside):.1f}' y2='{y:.1f}' "
        "stroke='#cccccc' stroke-width='2'/>"
    )
    for series, speed in speeds:
        if speed >= LOW:
            yield _dot(series, _x(speed), y)
            continue
        x = _x(LOW)
        yield (
            f"<path d='M {x + 8:.1f} {y - 5:.1f} L {x:.1f} {y:.1f} L {x + 8:.1f} {y + 5:.1f} z' "
            f"fill='{series.colour}'/>"
        )
        yield _text(x + 12, y - 3, f"{speed:.2f}×", colour=series.colour)


def _dot(series: Series, x: float, y: float) -> str:
    fill, edge = ("none", series.colour) if series.is_open else (series.colour, "#ffffff")
    width = 2 if series.is_open else 1
    return (
        f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{series.radius}' fill='{fill}' stroke='{edge}' "
        f"stroke-width='{width}'/>"
    )


def main() -> None:
    rows = networks(RESULTS.read_text())
    CHART.parent.mkdir(parents=True, exist_ok=True)
    CHART.write_text(chart(rows))
    print(summary(rows))


if __name__ == "__main__":
    main()
