"""A measurement as a drawing of four panels: the time of a call with its spread, the speed relative
to the first contender, the seconds until a contender is compiled, and its memory beside the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ingot.bench.timing import Timing
from ingot.bench.workers import Ready
from ingot.drawing import INK, PALE, PAPER, Box, Drawing, Line, Shape, Text

COLOURS = {
    "eager": "#555555",
    "inductor": "#8c8c8c",
    "inductor frozen": "#b0b0b0",
    "onnxruntime": "#0072b2",
    "openvino": "#009e73",
}
OURS = "#d55e00"
WIDTH, MARGIN, HEAD, ROW = 940, 20, 64, 26
NAMES, VALUES = 120, 84
"""Room for the names on the left and for values right of the longest bar."""
PANEL_HEAD, PANEL_FOOT = 34, 20
MUTED = "#777777"


@dataclass(frozen=True)
class Bar:
    name: str
    value: float
    text: str
    low: float | None = None
    high: float | None = None
    """The quartiles."""


@dataclass(frozen=True)
class Panel:
    title: str
    bars: Sequence[Bar]
    unit: float | None = None
    """A value that is marked by a line."""


def draw(
    title: str, note: str, times: Mapping[str, Timing], ready: Mapping[str, Ready],
    missing: Mapping[str, str],
) -> Drawing:  # fmt: skip
    """`note` says what the numbers depend on: the machine, its threads, the inputs."""
    panels = panels_of(times, ready)
    height = PANEL_HEAD + ROW * max(len(panel.bars) for panel in panels) + PANEL_FOOT
    width = (WIDTH - 3 * MARGIN) / 2
    shapes: list[Shape] = [Text(MARGIN, 28, title, size=17), Text(MARGIN, 48, note, fill=MUTED)]
    for k, panel in enumerate(panels):
        left = MARGIN + (k % 2) * (width + MARGIN)
        shapes += panel_shapes(panel, left, HEAD + (k // 2) * height, width)
    bottom = HEAD + (len(panels) + 1) // 2 * height
    for k, (name, why) in enumerate(missing.items()):
        text = f"{name} did not run: {why}"
        shapes.append(Text(MARGIN, bottom + 6 + 18 * k, _cut(text), fill=MUTED, size=12))
    whole = bottom + (18 * len(missing) + 4 if missing else 0)
    return Drawing(WIDTH, round(whole), title, tuple(shapes))


def panels_of(times: Mapping[str, Timing], ready: Mapping[str, Ready]) -> list[Panel]:
    first = next(iter(times))
    calls = [
        Bar(name, t.median_ms, time_text(t.median_ms), *t.quartiles_ms) for name, t in times.items()
    ]
    base = times[first].median_ms
    speeds = [
        Bar(name, base / t.median_ms, f"{base / t.median_ms:.2f}×") for name, t in times.items()
    ]
    others = {name: ready[name] for name in times if name != "eager"}
    found = [
        Panel("time of a call: median, quartiles", calls),
        Panel(f"speed relative to {first}", speeds, 1.0),
    ]
    if others:
        compiled = [Bar(n, r.prepare_s, time_text(1e3 * r.prepare_s)) for n, r in others.items()]
        memory = [Bar(n, r.memory, size_text(r.memory)) for n, r in others.items()]
        found += [
            Panel("from the model to the second call", compiled),
            Panel("memory beside the model", memory),
        ]
    return found


def panel_shapes(panel: Panel, left: float, top: float, width: float) -> Iterator[Shape]:
    start = left + NAMES
    longest = max((bar.high or bar.value for bar in panel.bars), default=0.0)
    longest = max(longest, panel.unit or 0.0) or 1.0
    scale = (width - NAMES - VALUES) / longest
    bottom = top + PANEL_HEAD + ROW * len(panel.bars)
    yield Text(left, top + 20, panel.title, size=14)
    yield Line([(start, top + PANEL_HEAD), (start, bottom)], PALE)
    for k, bar in enumerate(panel.bars):
        y = top + PANEL_HEAD + ROW * (k + 0.5)
        colour = COLOURS.get(bar.name, OURS)
        yield Text(start - 10, y + 4.5, bar.name, "end")
        yield Box(start, y - 8, max(bar.value * scale, 1), 16, colour)
        end = start + bar.value * scale
        if bar.low is not None and bar.high is not None:
            low, high = start + bar.low * scale, start + bar.high * scale
            for stroke, thick in ((PAPER, 4.0), (INK, 1.4)):
                yield Line([(low, y), (high, y)], stroke, thick)
                yield from (Line([(x, y - 4), (x, y + 4)], stroke, thick) for x in (low, high))
            end = max(end, high)
        yield Text(end + 8, y + 4.5, bar.text)
    if panel.unit is not None:
        x = start + panel.unit * scale
        yield Line([(x, top + PANEL_HEAD), (x, bottom)], INK, 1.2)


def time_text(ms: float) -> str:
    if ms < 0.0995:
        return f"{ms * 1e3:.3g} µs"
    return f"{ms:.3g} ms" if ms < 999.5 else f"{ms / 1e3:.3g} s"


def size_text(size: float) -> str:
    return f"{size / (1 << 20):.0f} MB"


def _cut(text: str) -> str:
    return text if len(text) <= 140 else f"{text[:139]}…"
