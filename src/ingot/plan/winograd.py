"""Which convolutions go Winograd's way, and how their patches are cut up. Comes in: a convolution
as plan/convolutions.py describes it; goes out: what codegen/winograd.py needs. What holds: only 3×3
windows on images of even sizes with many channels, whose transformed weights are not too large.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, replace

import torch

from ingot.codegen.gemm import tile_shape
from ingot.codegen.machine import this_machine
from ingot.codegen.tiles import Tile, tile_function
from ingot.codegen.winograd import FIELDS, PLACES, transformed, winograd_function
from ingot.plan.convolutions import Convolution, Filters, bits
from ingot.plan.geometry import Geometry, offsets

WINDOW = 9
FEWEST_CHANNELS = 32
FEWEST_PATCHES = 32
MOST_BYTES = 5 << 20
"""Of transformed weights: reading more costs what the products save."""


@dataclass(frozen=True)
class TransformedFilters(Filters):
    def panels(self, weight: torch.Tensor) -> torch.Tensor:
        return transformed(weight)

    @property
    def recipe(self) -> str:
        return f"transformed {super().recipe}"

    def behind(self, weight: torch.Tensor) -> list[torch.Tensor]:
        return [super().panels(weight).flatten()]

    def starts(self, terms: int) -> dict[str, int]:
        bias = self.wide * PLACES * terms // WINDOW
        return {"weights": 0, "bias": bias, "plain": bias + self.wide}


@dataclass(frozen=True)
class Winograd(Convolution):
    @property
    def fields(self) -> tuple[str, ...]:
        return FIELDS

    @property
    def function(self) -> int:
        return winograd_function(self.dtype)

    @property
    def patches(self) -> Geometry:
        """Each 2×2 pixels, as if they were pixels."""
        g = self.geometry
        batch, height, width = g.counts

        def twice(steps: tuple[int, ...]) -> tuple[int, ...]:
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

    @property
    def cut(self) -> tuple[int, int]:
        """(patches of a block, rows of a tile): a transformed block stays in the second cache
        level, and threads have as many of them."""
        g, threads = self.patches, torch.get_num_threads()
        room = this_machine().l2_bytes * 13 // 16
        most = max(g.rows_at_most, room // (PLACES * g.terms * g.itemsize))
        blocks = -(-g.pixels // most)
        blocks = -(-blocks // threads) * threads
        size = -(-g.pixels // blocks)
        tall = min(range(g.rows_at_most, 3, -1), key=lambda rows: -(-size // rows) * rows)
        return -(-size // tall) * tall, tall

    def scratch(self) -> int:
        """Bytes for all threads."""
        return self._room() * torch.get_num_threads() * self.dtype.itemsize

    def _room(self) -> int:
        block, _ = self.cut
        return block * PLACES * (self.geometry.window[-1] + tile_shape(self.dtype).columns)

    def tables(self) -> dict[str, array[int]]:
        patches, (block, _) = self.patches, self.cut
        columns = tile_shape(self.dtype).columns
        return {
            "ins": offsets(patches.counts, patches.image_steps),
            "outs": offsets(patches.counts, patches.result_steps),
            "adds": offsets(patches.counts, patches.addend_steps),
            "pieces": patches.pieces,
            "chunks": patches.chunks,
            "edges": array("q", self.edges),
            "lefts": offsets((block,), (patches.terms,)),
            "tops": offsets((block,), (columns,)),
        }

    def numbers(self) -> dict[str, int]:
        g, patches, (block, tall) = self.geometry, self.patches, self.cut
        tile = Tile(patches.kind, self.dtype, tile_shape(self.dtype).vectors, False)
        rows, pixels = (
            {f"{name}_{kind}": steps[dim] for name, steps in self._steps().items()}
            for kind, dim in (("row", 1), ("pixel", 2))
        )
        return {
            "tile": tile_function(tile, tall), "patches": patches.pixels, "block": block,
            "tall": tall, "n": g.columns, "k": patches.terms,
            "chunk_count": len(patches.chunks) // 4, "edge_count": len(self.edges) // 2,
            "room": self._room(), "teams": torch.get_num_threads(), **rows, **pixels,
            "low": bits(self.bounds[0], self.dtype), "high": bits(self.bounds[1], self.dtype),
            "work": g.work,
        }  # fmt: skip

    def _steps(self) -> dict[str, tuple[int, ...]]:
        g = self.geometry
        return {"image": g.image_steps, "result": g.result_steps, "addend": g.addend_steps}


def faster(plain: Convolution) -> Convolution:
    """The same Winograd's way, if that pays."""
    g, shape = plain.geometry, tile_shape(plain.dtype)
    if g.depthwise or g.window[:-1] != (3, 3) or len(g.counts) != 3:
        return plain
    channels, channel_step = g.window[-1], g.window_steps[-1]
    dense = g.image_steps[1:] == g.window_steps[:2] and channel_step == 1
    even = g.counts[1] % 2 == 0 and g.counts[2] % 2 == 0
    whole = channels % shape.lanes == 0 and g.columns % shape.columns == 0
    many = min(channels, g.columns) >= FEWEST_CHANNELS and g.pixels // 4 >= FEWEST_PATCHES
    small = PLACES * channels * g.columns * g.itemsize <= MOST_BYTES
    if not (dense and even and whole and many and small):
        return plain
    w = plain.weights
    weights = TransformedFilters(w.weight, w.bias, w.first, w.count)
    return Winograd(
        plain.node, plain.image, plain.addend, weights, g, plain.starts, plain.edges, plain.bounds
    )
