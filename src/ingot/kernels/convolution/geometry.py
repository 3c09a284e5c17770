"""Tables of offsets for emit.py, computed from the sizes and strides of a convolution: positions of
its pixels and of the terms of their sums, and the division of the work. Any number of spatial
dimensions, any stride, dilation and layout; padding is part of the image.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from weakref import WeakValueDictionary

from ingot.codegen.loops.gemm import DEPTH
from ingot.plan.attributes import register
from ingot.plan.ir import Attributes
from ingot.program.shapes import Size

SHORT = 16
"""Shorter runs are read term by term."""
SHORT_SUM, LOW_ROWS = 64, 8
"""If a sum has fewer terms, tiles have at most so many rows."""
BLOCK_BYTES = 1 << 18
"""Bytes of the image in one block: it stays in the L2 cache."""


MUCH = 4
LARGEST = 1 << 31
"""Offsets in tables are below this."""
_MOVING = ("counts", "image_steps", "result_steps", "addend_steps", "window_steps")


@register
@dataclass(frozen=True)
class Geometry(Attributes):
    """Steps are strides in elements. The first dimension of `counts` is the batch. Counts and steps
    may be symbolic: `at` gives the geometry that the other members need."""

    counts: tuple[Size, ...]
    """Pixels of the result, by dimension."""
    image_steps: tuple[Size, ...]
    """From the terms of one pixel to those of the next."""
    result_steps: tuple[Size, ...]
    addend_steps: tuple[Size, ...]
    window: tuple[int, ...]
    """Sizes of the window, followed by the input channels unless it is depthwise."""
    window_steps: tuple[Size, ...]
    depthwise: bool
    columns: int
    itemsize: int
    rows_at_most: int
    """The largest number of rows of a tile."""

    def sizes(self) -> tuple[Size, ...]:
        return tuple(size for name in _MOVING for size in getattr(self, name))

    def at(self, values: Sequence[int]) -> Geometry:
        """With `values` in place of `sizes`."""
        rest = iter(values)
        numbers = {name: tuple(next(rest) for _ in getattr(self, name)) for name in _MOVING}
        return replace(self, **numbers)  # type: ignore[arg-type]

    @property
    def is_known(self) -> bool:
        return all(isinstance(size, int) for size in self.sizes())

    def parts(self) -> list[tuple[Geometry, int, int, int]]:
        """Splits the batch so that tables can hold the offsets of each part. With each part: the
        offsets of its image, result and addend."""
        batch, *space = self.counts
        image, result, addend = steps = self._batch_steps()
        most = max(1, (LARGEST - 1) // max(1, *map(abs, steps)) - 1)
        return [
            (
                replace(self, counts=(min(most, batch - first), *space)),
                first * image,
                first * result,
                first * addend,
            )
            for first in range(0, batch, most)
        ]

    def _batch_steps(self) -> tuple[int, int, int]:
        return self.image_steps[0], self.result_steps[0], self.addend_steps[0]

    @property
    def pixels(self) -> int:
        return _product(self.counts)

    @property
    def terms(self) -> int:
        return _product(self.window)

    @cached_property
    def runs(self) -> list[tuple[int, int]]:
        """(offset, length) of contiguous memory to read, none longer than DEPTH."""
        length, outer = 1, len(self.window)
        while outer and (self.window[outer - 1] == 1 or self.window_steps[outer - 1] == length):
            outer -= 1
            length *= self.window[outer]
        parts = -(-length // DEPTH)
        cuts = [length * i // parts for i in range(parts + 1)]
        return [
            (start + low, high - low)
            for start in offsets(self.window[:outer], self.window_steps[:outer])
            for low, high in pairwise(cuts)
        ]

    @property
    def kind(self) -> str:
        if self.depthwise:
            return "channels"
        return "runs" if self.runs[0][1] >= SHORT else "terms"

    @cached_property
    def pieces(self) -> array[int]:
        if self.kind == "runs":
            return array("q", [word for run in self.runs for word in run])
        return offsets(self.window, self.window_steps, "q")

    @cached_property
    def chunks(self) -> array[int]:
        """(first word of `pieces`, pieces, first term, terms): at most DEPTH terms each."""
        lengths = [n for _, n in self.runs] if self.kind == "runs" else [1] * len(self.pieces)
        words = len(self.pieces) // len(lengths)
        result: list[list[int]] = []
        term = 0
        for number, length in enumerate(lengths):
            if not result or result[-1][3] + length > DEPTH:
                result.append([number * words, 0, term, 0])
            result[-1][1] += 1
            result[-1][3] += length
            term += length
        return array("q", [word for chunk in result for word in chunk])

    @property
    def most_rows(self) -> int:
        """The limit on the rows of a tile: lower if starting and storing a tile is much of the
        work, or if each row needs an address in every step."""
        low = self.kind == "terms" or (self.kind == "runs" and self.terms < SHORT_SUM)
        return min(self.rows_at_most, LOW_ROWS) if low else self.rows_at_most

    @property
    def tiles(self) -> int:
        """An even number, so that two or four threads have equal shares."""
        least = -(-self.pixels // self.most_rows)
        return least + least % 2 if least > 1 and self.pixels > least else least

    @property
    def tall(self) -> int:
        """Rows of the tallest tiles; the others have one less."""
        return -(-self.pixels // self.tiles)

    @property
    def tall_tiles(self) -> int:
        return self.pixels - self.tiles * (self.tall - 1)

    @property
    def block(self) -> int:
        """Tiles of a block."""
        channels = self.columns if self.depthwise else self.window[-1]
        return max(1, BLOCK_BYTES // (self.itemsize * self.tall * channels))

    @property
    def by_panels(self) -> bool:
        """Whether weights are much larger than image and result. If not, threads share the pixels,
        so that each finds in its own cache what it wrote in the previous step."""
        if self.depthwise:
            return False
        image, result = self.pixels * self.window[-1], self.pixels * self.columns
        return self.columns * self.terms > MUCH * (image + result)

    @property
    def work(self) -> int:
        return self.pixels * self.columns * self.terms


_known: WeakValueDictionary[tuple[object, ...], array[int]] = WeakValueDictionary()
"""Tables in use: convolutions of one size share them."""


def offsets(counts: Sequence[int], steps: Sequence[int], kind: str = "i") -> array[int]:
    """The offset of every position, the last dimension fastest."""
    key = (tuple(counts), tuple(steps), kind)
    found = _known.get(key)
    if found is None:
        found = _known[key] = _offsets(counts, steps, kind)
    return found


def _offsets(counts: Sequence[int], steps: Sequence[int], kind: str) -> array[int]:
    result = array(kind)
    count, step = (counts[-1], steps[-1]) if counts else (1, 0)
    outer = [
        [number * by for number in range(size)]
        for size, by in zip(counts[:-1], steps[:-1], strict=True)
    ]
    for start in map(sum, product(*outer)):
        result.extend(range(start, start + count * step, step) if step else [start] * count)
    return result


def border_ranges(
    counts: Sequence[int], border: Sequence[int], channels: int, steps: Sequence[int]
) -> array[int]:
    """(start, length) of the border of images with `border` pixels on each side, channels
    innermost, relative to the first inner pixel; `counts` and `steps` are batch and space."""
    batch, *space = counts
    sizes = [n + 2 * b for n, b in zip(space, border, strict=True)]
    inner = steps[1:]
    corner = sum(b * s for b, s in zip(border, inner, strict=True))
    whole = _product(sizes) * channels
    starts = offsets(space[:-1], inner[:-1])
    result: list[int] = []
    for image in range(batch):
        base, end = image * steps[0], 0
        for start in starts:
            begin = corner + start
            if begin > end:
                result += (base - corner + end, begin - end)
            end = begin + space[-1] * channels
        if whole > end:
            result += (base - corner + end, whole - end)
    return array("q", result)


def _product(numbers: Sequence[int]) -> int:
    total = 1
    for number in numbers:
        total *= number
    return total
