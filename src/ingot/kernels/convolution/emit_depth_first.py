"""Depth-first convolution chains: intermediate images are never materialised in full; a stage reads
the rows of the stage before it while they are in the L2 cache. The frame holds the arguments of
each stage and a list of rows to compute, in order. Each thread has its own scratch for the rows
between stages; rows at the border of two strips are computed in both.
"""

from __future__ import annotations

import torch

from ingot.codegen.jit.jit import compile_module
from ingot.codegen.jit.lazy import OnceStored
from ingot.codegen.jit.native import Native
from ingot.codegen.mlir.functions import I64
from ingot.codegen.mlir.memory import FRAME
from ingot.codegen.mlir.openmp import openmp_declarations
from ingot.kernels.convolution.emit import FrameTask, addresses, launch
from ingot.kernels.convolution.tiles import ARGUMENTS
from ingot.ops.values import Ptr, Val, Value

FIELDS = (
    "c", "edges", "rows", "strips", "edge_count", "strip_count", "room", "teams", "work",
)  # fmt: skip
"""The start of the frame. `c` is the scratch, `room` elements for each of `teams` threads; `edges`
are zeros in it, as in emit.py. `strips` holds where in `rows` each strip begins; one thread
computes a strip. The arguments of the stages follow."""
_POINTERS = FIELDS[:4]
STAGE = (
    "image", "image_room", "weights", "bias", "addend", "c", "c_room", "ins", "outs", "adds",
    "pieces", "count", "tile", "short", "edge_tile", "edge_short", "tall_tiles", "tall", "tiles",
    "n", "k", "across", "low", "high",
)  # fmt: skip
"""Fields of a stage, as in emit.py; `image_room` and `c_room` are `room` if the image or result is
in the scratch, otherwise 0."""
ROW = ("stage", "image", "c", "addend", "pieces")
"""Fields of a row: its stage, and its offsets from the stage's pointers, in elements and words."""


def chain_functions(dtype: torch.dtype) -> tuple[int, int]:
    """As in emit.py: the kernel, and the function for one thread's share."""
    return addresses(_compiled(dtype))


@OnceStored
def _compiled(dtype: torch.dtype) -> Native:
    functions = {"task": _Task(dtype).text(), "convolution": launch(FIELDS, _POINTERS)}
    return compile_module(list(openmp_declarations().values()), functions)


class _Task(FrameTask):
    def __init__(self, dtype: torch.dtype):
        super().__init__(dtype, FIELDS, _POINTERS)

    def text(self) -> str:
        b, size, one = self.b, self.size, self.const(1)
        thread, threads = self.team()
        threads = b.minimum(threads, size["teams"])
        self.thread = b.minimum(thread, threads)
        count = size["strip_count"]
        low, high = (b.minimum(n, count) for n in self.share(count, self.thread, threads))
        self.pointer["c"] = self._in_room(self.pointer["c"], size["room"])
        with self.loop(low, high, one) as strip:
            self.zero_edges(self.const(0), size["edge_count"])
            first, last = (self.words("strips", n, 1)[0] for n in (strip, b.add(strip, one)))
            with self.loop(first, last, one) as number:
                self._row(dict(zip(ROW, self.words("rows", number, len(ROW)), strict=True)))
        return self.function("task")

    def _in_room(self, pointer: Ptr, room: Val) -> Ptr:
        return self.moved(pointer, self.b.mul(self.thread, room), self.dtype)

    def _row(self, row: dict[str, Val]) -> None:
        b = self.b
        stage = b.add(b.mul(row["stage"], self.const(len(STAGE))), self.const(len(FIELDS)))
        self.stage = self.moved(FRAME, stage, I64)
        n = self._number("n")
        panels = self.panels(n)
        image = self._in_room(self._pointer("image", row), self._number("image_room"))
        c = self._in_room(self._pointer("c", row), self._number("c_room"))
        given = self.given(self._pointer("addend"))
        addend, nothing = self._pointer("addend", row), b.null()
        pieces = self.moved(self._pointer("pieces"), row["pieces"], I64)
        across, terms = self._number("across"), b.mul(self._number("k"), self.width)
        tiles, tall_tiles, tall = (self._number(x) for x in ("tiles", "tall_tiles", "tall"))
        values: dict[str, Value] = {
            "pieces": pieces, "count": self._number("count"),
            "low": self._bound("low"), "high": self._bound("high"),
        }  # fmt: skip
        with self.loop(self.const(0), panels, self.const(1)) as panel:
            left = b.mul(panel, self.width)
            used = b.minimum(self.width, b.sub(n, left))
            full = b.cmp("eq", used, self.width)
            tall_tile, short_tile = (
                self.either(full, self._pointer(name), self._pointer(f"edge_{name}"))
                for name in ("tile", "short")
            )
            beside = self.either(given, self.moved(addend, left, self.dtype), nothing)
            weights = self.moved(self._pointer("weights"), b.mul(panel, terms), self.dtype)
            values |= {
                "a": self.moved(image, b.mul(panel, across), self.dtype),
                "b": weights, "next": weights, "used": used, "addend": beside,
                "bias": self.moved(self._pointer("bias"), left, self.dtype),
                "c": self.moved(c, left, self.dtype),
            }  # fmt: skip
            with self.loop(self.const(0), tiles, self.const(1)) as tile:
                less = b.maximum(self.const(0), b.sub(tile, tall_tiles))
                first = b.sub(b.mul(tile, tall), less)
                for name in ("ins", "outs", "adds"):
                    values[name] = self.moved(self._pointer(name), first, torch.int32)
                function = self.either(b.cmp("lt", tile, tall_tiles), tall_tile, short_tile)
                b.invoke(function, [values[name] for name in ARGUMENTS])

    def _pointer(self, name: str, row: dict[str, Val] | None = None) -> Ptr:
        """A pointer of the stage; given a row, plus the row's offset."""
        pointer = self.b.as_pointer(self._number(name))
        return pointer if row is None else self.moved(pointer, row[name], self.dtype)

    def _number(self, name: str) -> Val:
        at = self.moved(self.stage, self.const(STAGE.index(name)), I64)
        return self.b.load(at, I64, 1)

    def _bound(self, name: str) -> Val:
        self.size[name] = self._number(name)
        return self.bound(name)
