"""Claims on the convolution op that passes/convolve.py writes: one launch of the function in
emit.py for each group of channels, or the reason against it. Weights and bias are packed together,
so that one guard serves both.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import fx

from ingot.kernels.convolution.emit import FIELDS, convolution_functions
from ingot.kernels.convolution.geometry import Geometry, border_ranges, offsets
from ingot.kernels.convolution.tiles import Tile, tile_function
from ingot.kernels.family import Claim, Pair, Reason, broadcast
from ingot.kernels.native_call import CallWord, Code, Lookup, NativeCall
from ingot.ops.kernel_shapes import tile_shape
from ingot.ops.panels import packed
from ingot.passes.convolve import why_not_native
from ingot.passes.frozen import computed_from
from ingot.plan.attributes import register
from ingot.plan.derived import derived
from ingot.plan.ir import Attributes, Expansion, Packing
from ingot.plan.places import bytes_of
from ingot.program.shapes import Size, arguments_of, shape_of, strides_of, tensor_of


@register
@dataclass(frozen=True)
class Border(Attributes):
    """Zeros around images with their channels innermost."""

    sizes: tuple[int, ...]
    channels: int


@register
@dataclass(frozen=True)
class DirectConvolution(Expansion):
    """The launch arguments of one group of channels, besides pointers."""

    dtype: torch.dtype
    geometry: Geometry
    border: Border | None
    """The zeros around the result. The borders of all groups are one piece of memory: the first
    group writes them."""
    bounds: tuple[float, float]
    row_stride: Size
    """Row stride of the image; 0 if it has no rows."""

    def scratch(self) -> int:
        """Bytes of scratch memory."""
        return 0

    def sizes(self) -> tuple[Size, ...]:
        return self.geometry.sizes()

    def launches(self, sizes: Sequence[int]) -> list[NativeCall]:
        """The native calls for given values of `sizes`."""
        whole = self.geometry.at(sizes)
        _check_counts(whole.counts)
        return [
            self.launch(part, {"image": image, "c": result, "addend": addend})
            for part, image, result, addend in whole.parts()
            if part.pixels
        ]

    def of_one_image(self) -> tuple[DirectConvolution, Size, Mapping[str, Size]]:
        g, size = self.geometry, self.dtype.itemsize
        steps = {"image": g.image_steps, "c": g.result_steps, "addend": g.addend_steps}
        one = replace(self, geometry=replace(g, counts=(1, *g.counts[1:])))
        return one, g.counts[0], {name: each[0] * size for name, each in steps.items()}

    def launch(self, g: Geometry, starts: dict[str, int]) -> NativeCall:
        return launched(convolution_functions(self.dtype), FIELDS, self, g, starts, {
            "ins": offsets(g.counts, g.image_steps),
            "outs": offsets(g.counts, g.result_steps),
            "adds": offsets(g.counts, g.addend_steps),
            "pieces": g.pieces,
            "chunks": g.chunks,
            "edges": self.edges(g),
        }, self._numbers(g))  # fmt: skip

    def edges(self, g: Geometry) -> array[int]:
        if self.border is None:
            return array("q")
        return border_ranges(g.counts, self.border.sizes, self.border.channels, g.result_steps)

    def _numbers(self, g: Geometry) -> dict[str, CallWord]:
        """The fields that are neither operands nor tables."""
        shape = tile_shape(self.dtype)
        return {
            **tile_numbers(g, self.dtype), "rows": g.tall_tiles, "tall": g.tall, "tiles": g.tiles,
            "block": g.block, "n": g.columns, "k": g.terms, "by_panels": int(g.by_panels),
            "across": shape.columns if g.depthwise else 0, "work": g.work,
        }  # fmt: skip


@dataclass(frozen=True)
class Convolution(Claim):
    """One group of a convolution's channels."""

    image: fx.Node
    addend: fx.Node | None
    weight: fx.Node
    bias: fx.Node | None
    panels: FilterPanels
    code: DirectConvolution
    starts: tuple[Size, Size, Size]
    """Offsets of the group in the image, the result and the addend, in elements."""

    def reads(self) -> list[fx.Node]:
        more = [] if self.addend is None else [self.addend]
        return [self.image, *more, *derived(*self.filters()).roots]

    def filters(self) -> list[fx.Node]:
        return [self.weight] if self.bias is None else [self.weight, self.bias]

    @property
    def geometry(self) -> Geometry:
        return self.code.geometry

    @property
    def dtype(self) -> torch.dtype:
        return self.code.dtype

    def equal_sizes(self) -> Iterator[Pair]:
        batch, *space = self.geometry.counts  # of the result without its border
        yield shape_of(self.image)[0], batch
        if self.addend is not None:
            full = (batch, shape_of(self.node)[1], *space)
            yield from broadcast(shape_of(self.addend), full)


def tile_numbers(g: Geometry, dtype: torch.dtype) -> dict[str, CallWord]:
    """The addresses of the tile functions."""
    shape = tile_shape(dtype)
    heights = (g.tall, g.tall - (g.tall_tiles < g.tiles))
    used = g.columns % shape.columns
    whole = Tile(g.kind, dtype, shape.vectors, False)
    edge = Tile(g.kind, dtype, -(-used // shape.lanes), used % shape.lanes > 0)
    tile, short = (Code(tile_function(whole, rows)) for rows in heights)
    edge_tile, edge_short = (Code(tile_function(edge if used else whole, rows)) for rows in heights)
    return {"tile": tile, "short": short, "edge_tile": edge_tile, "edge_short": edge_short}


def launched(
    functions: tuple[int, int], fields: Sequence[str], code: DirectConvolution, g: Geometry,
    starts: dict[str, int], tables: dict[str, array[int]], numbers: Mapping[str, CallWord],
) -> NativeCall:  # fmt: skip
    """The fields of a frame: tables, numbers, and for the rest the launch's own pointers."""
    known: dict[str, CallWord] = {
        **numbers, "chunk_count": len(tables["chunks"]) // 4,
        "edge_count": len(tables["edges"]) // 2,
        "low": bits(code.bounds[0], code.dtype), "high": bits(code.bounds[1], code.dtype),
        **{name: Lookup(table) for name, table in tables.items()},
    }  # fmt: skip
    size = code.dtype.itemsize
    words = [known.get(name, (name, starts.get(name, 0) * size)) for name in fields]
    return NativeCall(*functions, tuple(words))


def _check_counts(counts: Sequence[int]) -> None:
    """As in eager, an image has to be as large as the window."""
    if any(count < 1 for count in counts[1:]):
        raise RuntimeError(
            "Calculated padded input size per channel is too small. Kernel size can't be greater "
            "than actual input size"
        )


@register
@dataclass(frozen=True)
class FilterPanels(Packing):
    """A group's weights and bias: panels, then one bias element for each of their columns."""

    first: int
    count: int
    """Output channels of the group, from channel `first`."""

    def make(self, *values: torch.Tensor) -> torch.Tensor:
        weight, *more = values
        channels = slice(self.first, self.first + self.count)
        panels = self.panels(weight[channels])
        bias = panels.new_zeros(panels.shape[0] * panels.shape[-1])
        if more:
            bias[: self.count] = more[0][channels]
        return torch.cat([panels.flatten(), bias, *self.behind(weight[channels])])

    def panels(self, weight: torch.Tensor) -> torch.Tensor:
        matrix = weight.movedim((0, 1), (-1, -2)).reshape(-1, self.count)
        return packed(matrix, tile_shape(weight.dtype).columns)

    def behind(self, weight: torch.Tensor) -> list[torch.Tensor]:
        """Further tensors made of the weights, to pack after the bias."""
        return []

    def starts(self, terms: int) -> dict[str, int]:
        """The offset of each part, in elements."""
        return {"weights": 0, "bias": self.wide * terms}

    @property
    def wide(self) -> int:
        """Columns of all panels."""
        width = tile_shape(self.dtype).columns
        return -(-self.count // width) * width


def convolutions_of(node: fx.Node, frozen: set[fx.Node]) -> list[Convolution] | Reason:
    given = arguments_of(node)
    image, weight, bias = (given[n] for n in ("image", "weight", "bias"))
    made = [n for n in (weight, bias) if n is not None]
    if not all(root in frozen for n in made for root in derived(n).roots):
        return Reason("its weight is not frozen")
    if any(given["padding"]):
        return Reason("its image was not padded beforehand")
    images = [n for n in (node, image, given["addend"]) if n is not None]
    if not _is_known(*made):
        return Reason("its weight is empty or has a symbolic size")
    if not all(map(_has_channels, images)):
        return Reason("an image is empty or has a symbolic number of channels")
    columns, inner = shape_of(weight)[:2]
    groups = given["groups"]
    if groups > 1 and inner == 1 and columns == groups:
        return [_group(node, given, 0, 1, depthwise=True)]
    return [_group(node, given, g, groups, depthwise=False) for g in range(groups)]


def why_not_converted(node: fx.Node, frozen: set[fx.Node]) -> Reason:
    """Why `passes/convolve.py` left a call of ATen's op as it is."""
    reason = why_not_native(node, computed_from(frozen, node.graph))
    return Reason(reason or "the program has no parameters")


def _is_known(*nodes: fx.Node) -> bool:
    """Whether all sizes and strides are known and no tensor is empty."""
    return all(
        all(isinstance(n, int) for n in (*shape_of(node), *strides_of(node))) and bytes_of(node) > 0
        for node in nodes
    )


def _has_channels(image: fx.Node) -> bool:
    """Whether the number and stride of its channels are known. Other sizes may be symbols, but not
    0."""
    numbers = (shape_of(image)[1], strides_of(image)[1])
    return all(isinstance(n, int) for n in numbers) and 0 not in shape_of(image)


def _group(
    node: fx.Node, given: dict[str, Any], group: int, groups: int, depthwise: bool
) -> Convolution:
    image, weight, addend = given["image"], given["weight"], given["addend"]
    border, stride, dilation = given["border"], given["stride"], given["dilation"]
    columns, inner, *window = shape_of(weight)
    count = columns // groups
    batch, _, *space = shape_of(node)
    counts = (batch, *(n - 2 * b for n, b in zip(space, border, strict=True)))
    image_batch, image_channel, *image_space = strides_of(image)
    result_batch, _, *result_space = strides_of(node)
    terms = [s * d for s, d in zip(image_space, dilation, strict=True)]
    geometry = Geometry(
        counts=counts,
        image_steps=(image_batch, *(s * n for s, n in zip(image_space, stride, strict=True))),
        result_steps=(result_batch, *result_space),
        addend_steps=_pixel_steps(addend) if addend is not None else (0,) * len(counts),
        window=(*window,) if depthwise else (*window, inner),
        window_steps=(*terms,) if depthwise else (*terms, image_channel),
        depthwise=depthwise,
        columns=count,
        itemsize=tensor_of(node).dtype.itemsize,
        rows_at_most=tile_shape(tensor_of(node).dtype).rows,
    )
    corner = sum(b * s for b, s in zip(border, result_space, strict=True))
    first = group * count
    starts = (group * inner * image_channel, corner + first, first)
    around = Border(tuple(border), columns) if any(border) and group == 0 else None
    bounds = (given["low"], given["high"])
    dtype = tensor_of(node).dtype
    row_stride = image_space[0] if image_space else 0
    code = DirectConvolution(dtype, geometry, around, bounds, row_stride)
    panels = FilterPanels(dtype, first, count)
    return Convolution(node, image, addend, weight, given["bias"], panels, code, starts)


def _pixel_steps(node: fx.Node) -> tuple[int, ...]:
    batch, _, *space = strides_of(node)
    return batch, *space


def bits(number: float, dtype: torch.dtype) -> int:
    if dtype is torch.float64:
        return int(struct.unpack("<q", struct.pack("<d", number))[0])
    return int(struct.unpack("<i", struct.pack("<f", number))[0])
