"""Drawings of boxes, lines, circles and text, written as SVG, or as PNG where Pillow is installed.
Lengths are pixels; y grows downwards.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from ingot.errors import OptionError

Point = tuple[float, float]
INK, PALE, PAPER = "#333333", "#dddddd", "#ffffff"
FONTS = "Helvetica, Arial, sans-serif"
SCALE = 2
"""Pixels of a PNG for one of the drawing."""
_SMOOTHING = 2
"""Pillow's lines have hard edges: the picture is drawn larger and reduced."""
_FACES = ("Arial.ttf", "LiberationSans-Regular.ttf", "DejaVuSans.ttf", "NotoSans-Regular.ttf")
_PLAIN = str.maketrans({"×": "x", "µ": "u", "–": "-", "≥": ">=", "≤": "<=", "→": "->"})
"""For letters that Pillow's own font lacks."""


@dataclass(frozen=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    fill: str
    opacity: float = 1.0
    title: str = ""
    """Shown by a browser under the pointer."""

    def svg(self) -> str:
        clear = "" if self.opacity == 1.0 else f' fill-opacity="{self.opacity:g}"'
        end = f"><title>{escape(self.title)}</title></rect>" if self.title else "/>"
        return (
            f'<rect x="{self.x:.1f}" y="{self.y:.1f}" width="{self.width:.1f}" '
            f'height="{self.height:.1f}" fill="{self.fill}"{clear}{end}'
        )

    def paint(self, canvas: _Canvas) -> None:
        corners = [(self.x, self.y), (self.x + self.width, self.y + self.height)]
        fill = self.fill + f"{round(255 * self.opacity):02x}"
        canvas.draw.rectangle(canvas.at(corners), fill=fill)


@dataclass(frozen=True)
class Line:
    points: Sequence[Point]
    stroke: str = INK
    width: float = 1.0

    def svg(self) -> str:
        style = f'stroke="{self.stroke}" stroke-width="{self.width:g}"'
        if len(self.points) == 2:
            (x1, y1), (x2, y2) = self.points
            return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>'
        return f'<polyline points="{_points(self.points)}" fill="none" {style}/>'

    def paint(self, canvas: _Canvas) -> None:
        width = max(1, round(self.width * canvas.scale))
        canvas.draw.line(canvas.at(self.points), fill=self.stroke, width=width, joint="curve")


@dataclass(frozen=True)
class Polygon:
    points: Sequence[Point]
    fill: str

    def svg(self) -> str:
        return f'<polygon points="{_points(self.points)}" fill="{self.fill}"/>'

    def paint(self, canvas: _Canvas) -> None:
        canvas.draw.polygon(canvas.at(self.points), fill=self.fill)


@dataclass(frozen=True)
class Circle:
    x: float
    y: float
    radius: float
    fill: str | None
    stroke: str = PAPER
    width: float = 1.0

    def svg(self) -> str:
        return (
            f'<circle cx="{self.x:.1f}" cy="{self.y:.1f}" r="{self.radius:g}" '
            f'fill="{self.fill or "none"}" stroke="{self.stroke}" stroke-width="{self.width:g}"/>'
        )

    def paint(self, canvas: _Canvas) -> None:
        half = self.radius + self.width / 2
        corners = [(self.x - half, self.y - half), (self.x + half, self.y + half)]
        width = round(self.width * canvas.scale)
        canvas.draw.ellipse(canvas.at(corners), fill=self.fill, outline=self.stroke, width=width)


@dataclass(frozen=True)
class Text:
    x: float
    y: float
    """Of the baseline."""
    text: str
    anchor: str = "start"
    """Where x is in the text: start, middle or end."""
    fill: str = INK
    size: float = 13.0

    def svg(self) -> str:
        return (
            f'<text x="{self.x:.1f}" y="{self.y:.1f}" text-anchor="{self.anchor}" '
            f'fill="{self.fill}" font-size="{self.size:g}">{escape(self.text)}</text>'
        )

    def paint(self, canvas: _Canvas) -> None:
        anchor = {"start": "ls", "middle": "ms", "end": "rs"}[self.anchor]
        (at,) = canvas.at([(self.x, self.y)])
        font = canvas.font(self.size)
        canvas.draw.text(at, canvas.spelt(self.text), fill=self.fill, font=font, anchor=anchor)


Shape = Box | Line | Polygon | Circle | Text


@dataclass(frozen=True)
class Drawing:
    width: int
    height: int
    title: str
    """What it shows, for readers who do not see it."""
    shapes: tuple[Shape, ...]

    def as_svg(self) -> str:
        size = f'width="{self.width}" height="{self.height}"'
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
            f'viewBox="0 0 {self.width} {self.height}" font-family="{FONTS}" role="img">'
        )
        parts = [
            f"<title>{escape(self.title)}</title>",
            f'<rect {size} fill="{PAPER}"/>',
            *(shape.svg() for shape in self.shapes),
        ]
        return "\n".join([head, *parts, "</svg>", ""])

    def as_png(self) -> bytes:
        canvas = _Canvas(self.width, self.height)
        for shape in self.shapes:
            shape.paint(canvas)
        return canvas.png(self.title)

    def save(self, path: str | os.PathLike[str]) -> None:
        """As SVG or PNG, by the suffix."""
        target = Path(path)
        kind = check_picture(target)
        target.write_bytes(self.as_png() if kind == ".png" else self.as_svg().encode())


def check_picture(path: str | os.PathLike[str]) -> str:
    """The suffix of a picture that can be written; raises before anything is measured for it."""
    kind = Path(path).suffix.lower()
    if kind not in (".svg", ".png"):
        raise OptionError(f"plot {os.fspath(path)!r}", hints=["a file.svg or a file.png"])
    if kind == ".png":
        _pillow()
    return kind


class _Canvas:
    def __init__(self, width: int, height: int):
        image, draw, fonts = _pillow()
        self._face, self._is_whole = _face(fonts)
        self.scale = SCALE * _SMOOTHING
        self.size = (width * SCALE, height * SCALE)
        self.image = image.new("RGB", (width * self.scale, height * self.scale), PAPER)
        self.draw = draw.Draw(self.image, "RGBA")

    def at(self, points: Iterable[Point]) -> list[Point]:
        return [(x * self.scale, y * self.scale) for x, y in points]

    def font(self, size: float) -> Any:
        return self._face(size * self.scale)

    def spelt(self, text: str) -> str:
        return text if self._is_whole else text.translate(_PLAIN)

    def png(self, title: str) -> bytes:
        from PIL.PngImagePlugin import PngInfo

        info, data = PngInfo(), io.BytesIO()
        info.add_itxt("Title", title)
        self.image.resize(self.size).save(data, "PNG", optimize=True, pnginfo=info)
        return data.getvalue()


def _pillow() -> tuple[Any, Any, Any]:
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        hints = ["pip install 'ingot[plots]'", "or write a file.svg, which needs nothing"]
        raise OptionError("a PNG needs Pillow", hints=hints) from None
    return Image, ImageDraw, ImageFont


def _face(fonts: Any) -> tuple[Callable[[float], Any], bool]:
    """A font of the system, or Pillow's own, which lacks letters; and whether it is whole."""
    for name in _FACES:
        try:
            fonts.truetype(name, 10)
        except OSError:
            continue
        return partial(fonts.truetype, name), True
    return fonts.load_default, False


def _points(points: Iterable[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
