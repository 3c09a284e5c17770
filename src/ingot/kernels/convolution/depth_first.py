"""Depth-first tiling of convolution chains: finds the chains in a plan and computes the arguments
of emit_depth_first.py for each. Only the next stage reads the result of a stage. At most one stage
reads several rows of the stage before it, which limits the rows that two adjacent strips both
compute.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import torch
from torch import fx

from ingot.cache.environment import thread_count
from ingot.codegen.loops.gemm import DEPTH
from ingot.kernels.convolution.claim import Convolution, DirectConvolution, bits, tile_numbers
from ingot.kernels.convolution.emit_depth_first import FIELDS, ROW, STAGE, chain_functions
from ingot.kernels.convolution.geometry import Geometry, offsets
from ingot.kernels.family import Claim, Pair
from ingot.kernels.native_call import CallWord, Lookup, NativeCall
from ingot.machine import this_machine
from ingot.ops.kernel_shapes import tile_shape
from ingot.plan.attributes import register
from ingot.plan.ir import Expansion
from ingot.program.shapes import shape_of

MOST_STAGES = 4
MOST_TWICE = 20
"""The least ratio of all rows to the rows that are computed twice."""
LINE = 16
"""The scratch of a thread begins at a multiple of this."""


@dataclass(frozen=True)
class Between:
    """Rows in the scratch between a stage and the next: as many as the next stage reads at a time,
    then one of zeros."""

    start: int
    rows: int
    row: int
    """Elements of a row with its border."""
    high: int
    wide: int
    """The border, in pixels."""
    channels: int
    height: int
    """Rows to compute in total."""

    def has(self, number: int) -> bool:
        """Whether a row is computed rather than border; counted from the border's first."""
        return self.high <= number < self.high + self.height

    def place(self, number: int) -> int:
        return self.start + self.row * (number % self.rows if self.has(number) else self.rows)

    @property
    def size(self) -> int:
        return self.row * (self.rows + (self.high > 0))

    def edges(self) -> Iterator[int]:
        """(start, length) of the zeros."""
        side = self.wide * self.channels
        if side:
            for number in range(self.rows):
                yield from (self.start + self.row * number, side)
                yield from (self.start + self.row * (number + 1) - side, side)
        if self.high:
            yield from (self.start + self.row * self.rows, self.row)


@dataclass(frozen=True)
class Chain(Claim):
    stages: tuple[Convolution, ...]
    code: DepthFirst

    def reads(self) -> list[fx.Node]:
        inside = {stage.node for stage in self.stages}
        return [n for stage in self.stages for n in stage.reads() if n not in inside]

    def computes(self) -> list[fx.Node]:
        return [stage.node for stage in self.stages]

    def equal_sizes(self) -> Iterator[Pair]:
        for stage in self.stages:
            yield from stage.equal_sizes()


@register
@dataclass(frozen=True)
class DepthFirst(Expansion):
    """Depth-first tiling: the stages run row by row, and intermediate images are never materialised
    in full."""

    stages: tuple[DirectConvolution, ...]
    threads: int

    @property
    def dtype(self) -> torch.dtype:
        return self.stages[-1].dtype

    @property
    def work(self) -> int:
        return sum(stage.geometry.work for stage in self.stages)

    def sizes(self) -> tuple[int, ...]:
        return ()

    @cached_property
    def between(self) -> list[Between]:
        start, result = 0, []
        for stage, following in pairwise(self.stages):
            high, wide = (0, 0) if stage.border is None else stage.border.sizes
            _, height, width = stage.geometry.counts
            channels = stage.geometry.columns
            row = (width + 2 * wide) * channels
            reach = _rows_read(following, 0)[-1] + 1
            result.append(Between(start, reach, row, high, wide, channels, height))
            start += result[-1].size
        return result

    @property
    def room(self) -> int:
        """Elements of scratch for each thread."""
        last = self.between[-1]
        return -(-(last.start + last.size) // LINE) * LINE

    def scratch(self) -> int:
        return self.room * self.threads * self.dtype.itemsize

    def launches(self, _: Sequence[int]) -> list[NativeCall]:
        rows = _Rows(self)
        edges = array("q", [word for between in self.between for word in between.edges()])
        tables = {"edges": edges, "rows": rows.words, "strips": rows.strips}
        numbers: dict[str, CallWord] = {
            **_lookups(tables), "edge_count": len(edges) // 2,
            "strip_count": len(rows.strips) - 1, "room": self.room, "teams": self.threads,
            "work": self.work,
        }  # fmt: skip
        words = [numbers.get(name, ("room", 0)) for name in FIELDS]
        for number in range(len(self.stages)):
            words += self._stage(number, rows.pieces[number])
        return [NativeCall(*chain_functions(self.dtype), tuple(words))]

    def _stage(self, number: int, pieces: array[int]) -> list[CallWord]:
        """A stage's arguments in the frame."""
        stage, g = self.stages[number], _one_row(self.stages[number].geometry)
        tables = {
            "ins": offsets(g.counts, g.image_steps), "outs": offsets(g.counts, g.result_steps),
            "adds": offsets(g.counts, g.addend_steps), "pieces": pieces,
        }  # fmt: skip
        first, last = number == 0, number + 1 == len(self.stages)
        numbers: dict[str, CallWord] = {
            **_lookups(tables), **tile_numbers(_inside(g), self.dtype),
            "image_room": 0 if first else self.room, "c_room": 0 if last else self.room,
            "count": _pieces_of(stage), "tall_tiles": g.tall_tiles, "tall": g.tall,
            "tiles": g.tiles, "n": g.columns, "k": g.terms,
            "across": tile_shape(self.dtype).columns if g.depthwise else 0,
            "low": bits(stage.bounds[0], self.dtype), "high": bits(stage.bounds[1], self.dtype),
        }  # fmt: skip
        inside = {"image": first, "c": last}
        return [
            numbers[name] if name in numbers
            else (f"{name} {number}" if inside.get(name, True) else "room", 0)
            for name in STAGE
        ]  # fmt: skip


class _Rows:
    """The rows that each strip computes, in order, and the offsets of their terms."""

    def __init__(self, chain: DepthFirst):
        self.chain = chain
        self.words = array("q")
        self.strips = array("q", [0])
        self.pieces = [array("q") for _ in chain.stages]
        self._starts: dict[tuple[int, ...], int] = {}
        batch, height, _ = chain.stages[-1].geometry.counts
        rows = batch * height
        count = min(chain.threads, rows)
        for strip in range(count):
            self._made: set[tuple[int, int, int]] = set()
            for row in range(rows * strip // count, rows * (strip + 1) // count):
                self._make(len(chain.stages) - 1, *divmod(row, height))
            self.strips.append(len(self.words) // len(ROW))

    def _make(self, stage: int, image: int, row: int) -> None:
        """Appends a row of a stage after the rows that it reads."""
        if (stage, image, row) in self._made:
            return
        self._made.add((stage, image, row))
        convolution = self.chain.stages[stage]
        g = convolution.geometry
        start, places = image * g.image_steps[0] + row * g.image_steps[1], _row_places(g)
        if stage:
            before = self.chain.between[stage - 1]
            read = _rows_read(convolution, row)
            for number in read:
                if before.has(number):
                    self._make(stage - 1, image, number - before.high)
            start, places = 0, [before.place(number) for number in read]
        self.words.extend((
            stage, start, self._result(stage, image, row),
            image * g.addend_steps[0] + row * g.addend_steps[1], self._terms(stage, places),
        ))  # fmt: skip

    def _result(self, stage: int, image: int, row: int) -> int:
        if stage + 1 == len(self.chain.stages):
            steps = self.chain.stages[stage].geometry.result_steps
            return image * steps[0] + row * steps[1]
        after = self.chain.between[stage]
        return after.place(row + after.high) + after.wide * after.channels

    def _terms(self, stage: int, places: Sequence[int]) -> int:
        """The start of the pieces for these rows."""
        key = (stage, *places)
        if key not in self._starts:
            table, inside = self.pieces[stage], _inside(self.chain.stages[stage].geometry)
            self._starts[key] = len(table)
            words = inside.pieces
            several = 2 if inside.kind == "runs" else 1
            for place in places:
                table.extend(w if i % several else w + place for i, w in enumerate(words))
        return self._starts[key]


@dataclass(frozen=True)
class _Row(Geometry):
    """The pixels of one row, which one thread computes."""

    @property
    def tiles(self) -> int:
        return -(-self.pixels // self.rows_at_most)


def _one_row(g: Geometry) -> _Row:
    return _Row(
        g.counts[2:], g.image_steps[2:], g.result_steps[2:], g.addend_steps[2:], g.window,
        g.window_steps, g.depthwise, g.columns, g.itemsize, g.rows_at_most,
    )  # fmt: skip


def _inside(g: Geometry) -> Geometry:
    """The same geometry for the terms in one row of the window."""
    return replace(g, window=g.window[1:], window_steps=g.window_steps[1:])


def _row_places(g: Geometry) -> list[int]:
    return [number * g.window_steps[0] for number in range(g.window[0])]


def _pieces_of(stage: DirectConvolution) -> int:
    inside = _inside(stage.geometry)
    words = len(inside.pieces) // (2 if inside.kind == "runs" else 1)
    return words * stage.geometry.window[0]


def _rows_read(stage: DirectConvolution, row: int) -> list[int]:
    """The rows of its image, border included."""
    g, step = stage.geometry, stage.row_stride
    return [(row * g.image_steps[1] + place) // step for place in _row_places(g)]


def _lookups(tables: Mapping[str, array[int]]) -> dict[str, CallWord]:
    return {name: Lookup(table) for name, table in tables.items()}


# -- finding chains --------------------------------------------------------------------------------


def chains_of(convolutions: Sequence[Convolution]) -> list[Chain]:
    """The chains in a list of convolutions in execution order."""
    by_image = {convolution.image: convolution for convolution in convolutions}
    threads = thread_count() if len(convolutions) > 1 else 1
    found: list[Chain] = []
    used: set[fx.Node] = set()
    for convolution in convolutions:
        if convolution.node in used:
            continue
        stages = [convolution]
        while (following := by_image.get(stages[-1].node)) and _goes_on(stages, following, threads):
            stages.append(following)
        while len(stages) > 1 and stages[-1].code.border is not None:
            stages.pop()
        if len(stages) > 1:
            code = DepthFirst(tuple(stage.code for stage in stages), threads)
            found.append(Chain(stages[-1].node, tuple(stages), code))
            used.update(stage.node for stage in stages)
    return found


def _goes_on(stages: Sequence[Convolution], following: Convolution, threads: int) -> bool:
    last, several = stages[-1], [s for s in (*stages[1:], following) if s.geometry.window[0] > 1]
    if len(several) > 1 or len(stages) == MOST_STAGES or following.addend is last.node:
        return False
    if not _fits(last) or not _fits(following) or list(last.node.users) != [following.node]:
        return False
    g = last.geometry
    size = g.pixels * g.columns * g.itemsize
    twice = _rows_read(following.code, 0)[-1] + 1 - _rows_read(following.code, 1)[0]
    rows = following.geometry.counts[0] * following.geometry.counts[1]
    large = size > threads * this_machine().l2_bytes
    return large and MOST_TWICE * twice * (threads - 1) <= rows


def _fits(stage: Convolution) -> bool:
    """Two dimensions, known sizes, a single group of channels, and sums that are not split."""
    g = stage.geometry
    whole = type(stage.code) is DirectConvolution and g.columns == shape_of(stage.node)[1]
    return whole and g.is_known and len(g.counts) == 3 and g.terms <= DEPTH
