"""Drawings as SVG and PNG, and the charts of a measurement."""

from __future__ import annotations

import builtins
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ingot.bench.panels import draw, panels_of
from ingot.bench.timing import Timing
from ingot.bench.workers import Ready
from ingot.drawing import Box, Circle, Drawing, Line, Polygon, Text
from ingot.errors import OptionError

SHAPES = (
    Box(10, 10, 30, 20, "#ff0000", title="a < b"),
    Line([(0, 60), (100, 60)], "#0000ff", 4),
    Polygon([(60, 10), (80, 10), (70, 30)], "#00ff00"),
    Circle(20, 80, 8, None, "#000000", 2),
    Text(50, 50, "2.0× & 3 µs", "middle"),
)
DRAWING = Drawing(100, 100, 'it\'s "all"', SHAPES)
SVG = "{http://www.w3.org/2000/svg}"


def test_svg_is_well_formed_and_escaped(tmp_path: Path) -> None:
    DRAWING.save(tmp_path / "a.svg")
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    assert [text.text for text in root.iter(f"{SVG}text")] == ["2.0× & 3 µs"]
    assert [title.text for title in root.iter(f"{SVG}title")] == ['it\'s "all"', "a < b"]
    tags = [part.tag.removeprefix(SVG) for part in root]
    assert tags == ["title", "rect", "rect", "line", "polygon", "circle", "text"]


@pytest.mark.parametrize("has_font", [True, False])
def test_png_has_the_same_shapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_font: bool
) -> None:
    image = pytest.importorskip("PIL.Image")
    if not has_font:
        monkeypatch.setattr("ingot.drawing._FACES", ())
    DRAWING.save(tmp_path / "a.png")
    picture = image.open(io.BytesIO((tmp_path / "a.png").read_bytes())).convert("RGB")
    assert picture.size == (200, 200)
    assert picture.getpixel((50, 40)) == (255, 0, 0)
    assert picture.getpixel((100, 120)) == (0, 0, 255)
    assert picture.getpixel((140, 30)) == (0, 255, 0)
    assert picture.getpixel((40, 160)) == (255, 255, 255), "an open circle"
    dark = [picture.getpixel((x, y)) for x in range(60, 140) for y in range(80, 100)]
    assert min(map(sum, dark)) < 300, "text"


def test_paths_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match=r"file\.svg or a file\.png"):
        DRAWING.save(tmp_path / "a.gif")

    def without_pillow(
        name: str, *args: Any, plain: Callable[..., Any] = builtins.__import__
    ) -> Any:
        if name == "PIL":
            raise ImportError(name)
        return plain(name, *args)

    monkeypatch.setattr(builtins, "__import__", without_pillow)
    with pytest.raises(OptionError, match=r"needs Pillow[\s\S]*ingot\[plots\]"):
        DRAWING.save(tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_a_measurement_has_four_panels() -> None:
    times = {"eager": Timing((4.0, 5.0, 6.0)), "ingot": Timing((2.0, 2.5, 3.0))}
    ready = {"eager": Ready(), "ingot": Ready(prepare_s=1.5, memory=3 << 20)}
    call, speed, compiled, memory = panels_of(times, ready)
    assert [bar.text for bar in call.bars] == ["5 ms", "2.5 ms"]
    assert (call.bars[0].low, call.bars[0].high) == (4.0, 6.0)
    assert [bar.text for bar in speed.bars] == ["1.00×", "2.00×"]
    assert [bar.text for bar in compiled.bars] == ["1.5 s"], "eager compiles nothing"
    assert [bar.text for bar in memory.bars] == ["3 MB"]
    drawn = draw("a model", "a machine", times, ready, {"openvino": "not installed"})
    root = ElementTree.fromstring(drawn.as_svg())
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "openvino did not run: not installed" in texts and "2.00×" in texts
    boxes = [float(box.get("width", 0)) for box in root.iter(f"{SVG}rect")][1:]
    assert boxes[0] == pytest.approx(2 * boxes[1], abs=0.2), "bars are proportional to the times"
