"""Direct convolution: the loops around the tiles of tiles.py. The frame holds addresses and
numbers; tables describe windows and strides, so one function per dtype serves all convolutions. It
also zeroes the border of the result. A part of a panel of weights stays in the L1 cache while a
block of pixels passes by. Results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ingot.codegen.jit.jit import compile_module
from ingot.codegen.jit.lazy import OnceStored
from ingot.codegen.jit.native import Native
from ingot.codegen.loops.gemm import WORK_PER_THREAD
from ingot.codegen.mlir.functions import I64, Writer
from ingot.codegen.mlir.openmp import openmp_declarations
from ingot.kernels.convolution import tiles
from ingot.kernels.convolution.tiles import ARGUMENTS
from ingot.ops.kernel_shapes import tile_shape
from ingot.ops.values import Ptr, Val, Value

FIELDS = (
    "image", "weights", "bias", "addend", "c",
    "ins", "outs", "adds", "pieces", "chunks", "edges",
    "tile", "short", "edge_tile", "edge_short",
    "rows", "tall", "tiles", "block", "n", "k", "chunk_count", "edge_count", "across",
    "by_panels", "low", "high", "work",
)  # fmt: skip
"""The frame. `chunks` has four words each: first word of `pieces`, number of pieces, first term,
number of terms; `edges` two: start and length of zeros. `tile` and its kin are functions; the first
`rows` tiles have height `tall`, the others one less. `across` is the step of the image from panel
to panel, in elements; `low` and `high` are bits; `work` counts multiplications."""
_POINTERS = FIELDS[:15]


def convolution_functions(dtype: torch.dtype) -> tuple[int, int]:
    """The addresses for `dtype`, in the executor's calling convention: of the kernel, and of the
    function for one thread's share."""
    return addresses(_compiled(dtype))


def addresses(native: Native) -> tuple[int, int]:
    return native.addresses["convolution"], native.addresses["task"]


def begin(dtype: torch.dtype) -> None:
    """Starts compiling convolutions of this dtype ahead of time."""
    _compiled.begin(dtype)
    tiles.begin(dtype)


@OnceStored
def _compiled(dtype: torch.dtype) -> Native:
    functions = {"task": _Task(dtype).text(), "convolution": launch(FIELDS, _POINTERS)}
    return compile_module(list(openmp_declarations().values()), functions)


class FrameTask(Writer):
    """The function of each thread: its share of the edges and of the rest."""

    def __init__(self, dtype: torch.dtype, fields: Sequence[str], pointers: Sequence[str]):
        super().__init__()
        self.read_frame(fields, pointers)
        self.dtype = dtype
        self.width = self.const(tile_shape(dtype).columns)

    def panels(self, columns: Val) -> Val:
        b = self.b
        return b.div(b.add(columns, b.sub(self.width, self.const(1))), self.width)

    def zero_edges(self, first: Val, last: Val) -> None:
        b = self.b
        zero = b.const(0, torch.int8)
        with self.loop(first, last, self.const(1)) as number:
            start, count = self.words("edges", number, 2)
            at = self.moved(self.pointer["c"], start, self.dtype)
            size = b.mul(count, self.const(self.dtype.itemsize))
            b.fill(at, zero, size)

    def words(self, table: str, number: Val, count: int) -> list[Val]:
        row = self.moved(self.pointer[table], self.b.mul(number, self.const(count)), I64)
        return [self.b.load(self.moved(row, self.const(i), I64), I64, 1) for i in range(count)]

    def bound(self, name: str) -> Val:
        """A float that the frame holds as bits."""
        bits = self.size[name]
        if self.dtype is torch.float32:
            bits = self.b.cast(bits, torch.int32)
        return self.b.bitcast(bits, self.dtype)

    def row(self, base: str, table: str, number: Val) -> Ptr:
        """The address at `base` plus an offset from the table."""
        entry = self.moved(self.pointer[table], number, torch.int32)
        offset = self.b.cast(self.b.load(entry, torch.int32, 1), I64)
        return self.moved(self.pointer[base], offset, self.dtype)


class _Task(FrameTask):
    def __init__(self, dtype: torch.dtype):
        super().__init__(dtype, FIELDS, _POINTERS)

    def text(self) -> str:
        b = self.b
        thread, threads = self.team()
        self.zero_edges(*self.share(self.size["edge_count"], thread, threads))
        by_panels = b.cmp("ne", self.size["by_panels"], self.const(0))
        panels = self.panels(self.size["n"])
        low_panel, high_panel = self.share(panels, thread, threads)
        low_tile, high_tile = self.share(self.size["tiles"], thread, threads)
        low_panel = b.select(by_panels, low_panel, self.const(0))
        high_panel = b.select(by_panels, high_panel, panels)
        low_tile = b.select(by_panels, self.const(0), low_tile)
        high_tile = b.select(by_panels, self.size["tiles"], high_tile)
        with self.loop(low_tile, high_tile, self.size["block"]) as first:
            last = b.minimum(b.add(first, self.size["block"]), high_tile)
            with self.loop(low_panel, high_panel, self.const(1)) as panel:
                self._panel(panel, first, last)
        return self.function("task")

    def _panel(self, panel: Val, first: Val, last: Val) -> None:
        b = self.b
        left = b.mul(panel, self.width)
        used = b.minimum(self.width, b.sub(self.size["n"], left))
        full = b.cmp("eq", used, self.width)
        tall = self.either(full, self.pointer["tile"], self.pointer["edge_tile"])
        short = self.either(full, self.pointer["short"], self.pointer["edge_short"])
        image = self.moved(self.pointer["image"], b.mul(panel, self.size["across"]), self.dtype)
        bias = self.moved(self.pointer["bias"], left, self.dtype)
        c = self.moved(self.pointer["c"], left, self.dtype)
        nothing = b.null()
        given = self.given(self.pointer["addend"])
        addend = self.either(given, self.moved(self.pointer["addend"], left, self.dtype), nothing)
        with self.loop(self.const(0), self.size["chunk_count"], self.const(1)) as chunk:
            start, count, term, _ = self.words("chunks", chunk, 4)
            pieces = self.moved(self.pointer["pieces"], start, I64)
            row = b.add(b.mul(panel, self.size["k"]), term)
            weights = self.moved(self.pointer["weights"], b.mul(row, self.width), self.dtype)
            following = self._following(weights, chunk)
            begins = b.cmp("eq", chunk, self.const(0))
            ends = b.cmp("eq", b.add(chunk, self.const(1)), self.size["chunk_count"])
            low, high = (self._bound(name, ends) for name in ("low", "high"))
            values: dict[str, Value] = {
                "a": image, "pieces": pieces, "count": count, "b": weights,
                "bias": self.either(begins, bias, nothing), "c": c,
                "addend": self.either(ends, addend, nothing), "low": low, "high": high,
                "used": used,
            }  # fmt: skip
            with self.loop(first, last, self.const(1)) as tile:
                values["next"] = self.either(b.cmp("eq", tile, first), following, weights)
                self._tile(tile, tall, short, values)

    def _following(self, weights: Ptr, chunk: Val) -> Ptr:
        """The address of the next chunk's weights."""
        b = self.b
        terms = self.words("chunks", chunk, 4)[3]
        return self.moved(weights, b.mul(terms, self.width), self.dtype)

    def _tile(self, tile: Val, tall: Ptr, short: Ptr, values: dict[str, Value]) -> None:
        b = self.b
        less = b.maximum(self.const(0), b.sub(tile, self.size["rows"]))
        row = b.sub(b.mul(tile, self.size["tall"]), less)
        for name in ("ins", "outs", "adds"):
            values[name] = self.moved(self.pointer[name], row, torch.int32)
        function = self.either(b.cmp("lt", tile, self.size["rows"]), tall, short)
        b.invoke(function, [values[name] for name in ARGUMENTS])

    def _bound(self, name: str, ends: Val) -> Val:
        """The given bound in the last chunk, none in earlier ones."""
        b = self.b
        none = b.const(float("-inf" if name == "low" else "inf"), self.dtype)
        return b.select(ends, self.bound(name), none)


def launch(fields: Sequence[str], pointers: Sequence[str]) -> str:
    """A function that runs @task on as many threads as are useful."""
    w = Writer()
    w.read_frame(fields, pointers)
    b = w.b
    useful = b.div(w.size["work"], w.const(WORK_PER_THREAD))
    w.in_parallel(b.minimum(useful, w.size["teams"]) if "teams" in fields else useful)
    zero = w.const(0)
    return w.function("convolution", result=zero)
