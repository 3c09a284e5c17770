"""Winograd's algorithm for the convolutions of claim.py that it makes faster, and the arguments of
emit_winograd.py: how the image is divided into patches. Only 3×3 windows on images of even sizes
with many channels, whose transformed weights are not too large.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch

from ingot.cache.environment import thread_count
from ingot.kernels.convolution.claim import Convolution, DirectConvolution, FilterPanels, launched
from ingot.kernels.convolution.emit_winograd import FIELDS, PLACES, transformed, winograd_functions
from ingot.kernels.convolution.geometry import Geometry, offsets
from ingot.kernels.convolution.tiles import Tile, tile_function
from ingot.kernels.native_call import CallWord, Code, NativeCall
from ingot.machine import this_machine
from ingot.ops.kernel_shapes import tile_shape
from ingot.plan.attributes import register
from ingot.program.shapes import Size

WINDOW = 9
FEWEST_CHANNELS = 32
FEWEST_PATCHES = 32
MOST_BYTES = 5 << 20
"""Bytes of transformed weights: reading more costs what the saved multiplications gain."""


@register
@dataclass(frozen=True)
class TransformedPanels(FilterPanels):
    """Transformed weights, then the bias, then the untransformed weights."""

    def panels(self, weight: torch.Tensor) -> torch.Tensor:
        return transformed(weight)

    def behind(self, weight: torch.Tensor) -> list[torch.Tensor]:
        return [super().panels(weight).flatten()]

    def starts(self, terms: int) -> dict[str, int]:
        bias = self.wide * PLACES * terms // WINDOW
        return {"weights": 0, "bias": bias, "plain": bias + self.wide}


@register
@dataclass(frozen=True)
class Winograd(DirectConvolution):
    """Odd or small sizes take the direct algorithm."""

    threads: int

    def launch(self, g: Geometry, starts: dict[str, int]) -> NativeCall:
        if not pays(g):
            return self._plain(super().launch(g, starts))
        patches, (block, _) = _patches(g), self._cut(g)
        columns = tile_shape(self.dtype).columns
        return launched(winograd_functions(self.dtype), FIELDS, self, g, starts, {
            "ins": offsets(patches.counts, patches.image_steps),
            "outs": offsets(patches.counts, patches.result_steps),
            "adds": offsets(patches.counts, patches.addend_steps),
            "pieces": patches.pieces,
            "chunks": patches.chunks,
            "edges": self.edges(g),
            "lefts": offsets((block,), (patches.terms,)),
            "tops": offsets((block,), (columns,)),
        }, self._places(g))  # fmt: skip

    def _plain(self, launch: NativeCall) -> NativeCall:
        """The direct algorithm on the untransformed weights."""
        words = [("plain", 0) if word == ("weights", 0) else word for word in launch.words]
        return replace(launch, words=tuple(words))

    def _cut(self, g: Geometry) -> tuple[int, int]:
        """(patches of a block, rows of a tile): a transformed block stays in the L2 cache, and all
        threads have the same number of blocks."""
        pixels, rows_at_most = _patches(g).pixels, g.rows_at_most
        blocks = -(-pixels // self._most())
        blocks = -(-blocks // self.threads) * self.threads
        size = -(-pixels // blocks)
        tall = min(range(rows_at_most, 3, -1), key=lambda rows: -(-size // rows) * rows)
        return -(-size // tall) * tall, tall

    def _most(self) -> int:
        """The largest number of patches in a block."""
        g = self.geometry
        room = this_machine().l2_bytes * 13 // 16
        return max(g.rows_at_most, room // (PLACES * g.window[-1] * g.itemsize))

    def scratch(self) -> int:
        g = self.geometry
        block = self._cut(g)[0] if g.is_known else self._most() + g.rows_at_most
        return self._room(block) * self.threads * self.dtype.itemsize

    def _room(self, block: int) -> int:
        return block * PLACES * (self.geometry.window[-1] + tile_shape(self.dtype).columns)

    def _places(self, g: Geometry) -> dict[str, CallWord]:
        patches, (block, tall) = _patches(g), self._cut(g)
        tile = Tile(patches.kind, self.dtype, tile_shape(self.dtype).vectors, False)
        steps = {"image": g.image_steps, "result": g.result_steps, "addend": g.addend_steps}
        rows, pixels = (
            {f"{name}_{kind}": sizes[dim] for name, sizes in steps.items()}
            for kind, dim in (("row", 1), ("pixel", 2))
        )
        return {
            "tile": Code(tile_function(tile, tall)), "patches": patches.pixels, "block": block,
            "tall": tall, "n": g.columns, "k": patches.terms, "room": self._room(block),
            "teams": self.threads, **rows, **pixels, "work": g.work,
        }  # fmt: skip


def _patches(g: Geometry) -> Geometry:
    """The geometry of patches of 2×2 pixels."""
    batch, height, width = g.counts

    def twice(steps: tuple[Size, ...]) -> tuple[Size, ...]:
        return steps[0], 2 * steps[1], 2 * steps[2]

    return replace(
        g,
        counts=(batch, height // 2, width // 2),
        image_steps=twice(g.image_steps),
        result_steps=twice(g.result_steps),
        addend_steps=twice(g.addend_steps),
        window=g.window[-1:],
        window_steps=(1,),
    )


def pays(g: Geometry) -> bool:
    """Whether these sizes, all of them known, are worth it."""
    even = g.counts[1] % 2 == 0 and g.counts[2] % 2 == 0
    return even and g.pixels // 4 >= FEWEST_PATCHES


def faster(plain: Convolution) -> Convolution:
    """The same convolution by Winograd's algorithm, if that pays."""
    g, shape = plain.geometry, tile_shape(plain.dtype)
    if g.depthwise or g.window[:-1] != (3, 3) or len(g.counts) != 3:
        return plain
    channels, channel_step = g.window[-1], g.window_steps[-1]
    dense = g.image_steps[1:] == g.window_steps[:2] and channel_step == 1
    whole = channels % shape.lanes == 0 and g.columns % shape.columns == 0
    many = min(channels, g.columns) >= FEWEST_CHANNELS
    small = PLACES * channels * g.columns * g.itemsize <= MOST_BYTES
    if not (dense and whole and many and small) or (g.is_known and not pays(g)):
        return plain
    panels = TransformedPanels(plain.dtype, plain.panels.first, plain.panels.count)
    own = {each.name: getattr(plain.code, each.name) for each in fields(plain.code)}
    return replace(plain, panels=panels, code=Winograd(**own, threads=thread_count()))
