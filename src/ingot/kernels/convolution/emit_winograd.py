"""3×3 convolutions by Winograd's algorithm F(2×2, 3×3): four pixels from sixteen multiplications
instead of thirty-six. The frame is that of emit.py, with transformed weights; the border of the
result is zeroed. Values between the transforms stay in the L2 cache. Rounding errors are those of a
plain sum, since the transforms only add and subtract. A pixel that is not finite, such as the
difference of two infinities, is computed again by the direct algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ingot.codegen.jit.jit import compile_module
from ingot.codegen.jit.lazy import OnceStored
from ingot.codegen.jit.native import Native
from ingot.codegen.mlir.functions import I64
from ingot.codegen.mlir.openmp import openmp_declarations
from ingot.kernels.convolution.emit import FrameTask, addresses, launch
from ingot.kernels.convolution.tiles import ARGUMENTS, clamped
from ingot.ops.kernel_shapes import tile_shape
from ingot.ops.panels import packed
from ingot.ops.values import Ptr, Val, Value

FIELDS = (
    "image", "weights", "bias", "plain", "addend", "c", "scratch",
    "ins", "outs", "adds", "pieces", "chunks", "edges", "lefts", "tops", "tile",
    "patches", "block", "tall", "n", "k", "chunk_count", "edge_count", "room", "teams",
    "image_row", "image_pixel", "result_row", "result_pixel", "addend_row", "addend_pixel",
    "low", "high", "work",
)  # fmt: skip
"""As in emit.py, but `ins`, `outs` and `adds` are of patches of 2×2 pixels. A block of patches is
processed at a time, in tiles of height `tall`; `lefts` and `tops` are the offsets of their rows in
the transformed image and in the results of the matmuls. The scratch has `room` elements for each of
`teams` threads. `plain` are the untransformed weights, in panels."""
_POINTERS = FIELDS[:16]

IMAGE = ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1))
FILTER = ((1.0, 0.0, 0.0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0.0, 0.0, 1.0))
RESULT = ((1, 1, 1, 0), (0, 1, -1, -1))
PLACES = 16


def winograd_functions(dtype: torch.dtype) -> tuple[int, int]:
    """As in emit.py: the kernel, and the function for one thread's share."""
    return addresses(_compiled(dtype))


def begin(dtype: torch.dtype) -> None:
    """Starts compiling 3×3 convolutions of this dtype ahead of time."""
    _compiled.begin(dtype)


@OnceStored
def _compiled(dtype: torch.dtype) -> Native:
    functions = {"task": _Task(dtype).text(), "convolution": launch(FIELDS, _POINTERS)}
    return compile_module(list(openmp_declarations().values()), functions)


def transformed(weight: torch.Tensor) -> torch.Tensor:
    """(n, channels, 3, 3) as panels for all positions: (panels, positions, channels, columns)."""
    left = torch.tensor(FILTER, dtype=weight.dtype)
    n, channels = weight.shape[:2]
    both = torch.kron(left, left)
    wide = both @ weight.permute(2, 3, 1, 0).reshape(9, channels * n)
    columns = tile_shape(weight.dtype).columns
    places = [packed(matrix, columns) for matrix in wide.view(PLACES, channels, n)]
    return torch.stack(places, 1)


class _Task(FrameTask):
    def __init__(self, dtype: torch.dtype):
        super().__init__(dtype, FIELDS, _POINTERS)
        self.lanes = tile_shape(dtype).lanes

    def text(self) -> str:
        b, size = self.b, self.size
        nothing = self.stack(tile_shape(self.dtype).columns, self.dtype)
        for j in range(tile_shape(self.dtype).vectors):
            at = self.moved(nothing, self.const(j * self.lanes), self.dtype)
            b.store(at, b.const(0, self.dtype, self.lanes))
        thread, threads = self.team()
        self.zero_edges(*self.share(size["edge_count"], thread, threads))
        # A team may have more threads than there is scratch for: the last ones do nothing.
        threads = b.minimum(threads, size["teams"])
        thread = b.minimum(thread, threads)
        image = self.moved(self.pointer["scratch"], b.mul(thread, size["room"]), self.dtype)
        area = b.mul(size["block"], size["k"])
        products = self.moved(image, b.mul(area, self.const(PLACES)), self.dtype)
        last = b.sub(b.add(size["patches"], size["block"]), self.const(1))
        blocks = b.div(last, size["block"])
        low, high = (b.minimum(n, blocks) for n in self.share(blocks, thread, threads))
        panels = self.panels(size["n"])
        with self.loop(low, high, self.const(1)) as block:
            first = b.mul(block, size["block"])
            count = b.minimum(size["block"], b.sub(size["patches"], first))
            self._image(first, count, image, area)
            with self.loop(self.const(0), panels, self.const(1)) as panel:
                self._products(panel, count, image, area, products, nothing)
                self._result(panel, first, count, products)
        return self.function("task")

    # -- the image ---------------------------------------------------------------------------------

    def _image(self, first: Val, count: Val, image: Ptr, area: Val) -> None:
        b, size = self.b, self.size
        with self.loop(self.const(0), count, self.const(1)) as patch:
            start = self.row("image", "ins", b.add(first, patch))
            there = self.moved(image, b.mul(patch, size["k"]), self.dtype)
            with self.loop(self.const(0), size["k"], self.const(self.lanes)) as channel:
                corner = self.moved(start, channel, self.dtype)
                pixels = [[self._pixel(corner, "image", i, j) for j in range(4)] for i in range(4)]
                values = self._both_sides(IMAGE, pixels)
                to = self.moved(there, channel, self.dtype)
                for number, value in enumerate(v for row in values for v in row):
                    b.store(to, value)
                    if number + 1 < PLACES:
                        to = self.moved(to, area, self.dtype)

    def _pixel(self, corner: Ptr, name: str, i: int, j: int) -> Val:
        return self.b.load(self._place(corner, name, i, j), self.dtype, self.lanes)

    def _place(self, corner: Ptr, name: str, i: int, j: int) -> Ptr:
        return self._moved_by(corner, name, self.const(i), self.const(j))

    def _moved_by(self, corner: Ptr, name: str, down: Val, across: Val) -> Ptr:
        """The address so many rows down and pixels across from `corner`."""
        b = self.b
        rows = b.mul(self.size[f"{name}_row"], down)
        return self.moved(
            corner, b.add(rows, b.mul(self.size[f"{name}_pixel"], across)), self.dtype
        )

    # -- the matmuls -------------------------------------------------------------------------------

    def _products(
        self, panel: Val, count: Val, image: Ptr, area: Val, products: Ptr, nothing: Ptr
    ) -> None:
        b, size = self.b, self.size
        null = b.null()
        with self.loop(self.const(0), self.const(PLACES), self.const(1)) as place:
            matrix = b.add(b.mul(panel, self.const(PLACES)), place)
            left = self.moved(image, b.mul(place, area), self.dtype)
            to = b.mul(b.mul(place, size["block"]), self.width)
            result = self.moved(products, to, self.dtype)
            with self.loop(self.const(0), size["chunk_count"], self.const(1)) as chunk:
                start, pieces, term, terms = self.words("chunks", chunk, 4)
                row = b.add(b.mul(matrix, size["k"]), term)
                weights = self.moved(self.pointer["weights"], b.mul(row, self.width), self.dtype)
                following = self.moved(weights, b.mul(terms, self.width), self.dtype)
                begins = b.cmp("eq", chunk, self.const(0))
                values: dict[str, Value] = {
                    "a": left, "pieces": self.moved(self.pointer["pieces"], start, I64),
                    "count": pieces, "b": weights, "bias": self.either(begins, nothing, null),
                    "c": result, "addend": null, "adds": self.pointer["tops"],
                    "low": b.const(float("-inf"), self.dtype),
                    "high": b.const(float("inf"), self.dtype), "used": self.width,
                }  # fmt: skip
                with self.loop(self.const(0), count, size["tall"]) as patch:
                    begun = b.cmp("eq", patch, self.const(0))
                    values["next"] = self.either(begun, following, weights)
                    for name, table in (("ins", "lefts"), ("outs", "tops")):
                        values[name] = self.moved(self.pointer[table], patch, torch.int32)
                    b.invoke(self.pointer["tile"], [values[name] for name in ARGUMENTS])

    # -- the result --------------------------------------------------------------------------------

    def _result(self, panel: Val, first: Val, count: Val, products: Ptr) -> None:
        b, size = self.b, self.size
        area = b.mul(size["block"], self.width)
        left = b.mul(panel, self.width)
        given = self.given(self.pointer["addend"])
        with self.loop(self.const(0), count, self.const(1)) as patch:
            number = b.add(first, patch)
            source = self.row("image", "ins", number)
            corner = self.moved(self.row("c", "outs", number), left, self.dtype)
            addend = self.moved(self.row("addend", "adds", number), left, self.dtype)
            there = self.moved(products, b.mul(patch, self.width), self.dtype)
            with self.loop(self.const(0), self.width, self.const(self.lanes)) as column:
                at = self.moved(there, column, self.dtype)
                values = []
                for _ in range(PLACES):
                    values.append(b.load(at, self.dtype, self.lanes))
                    at = self.moved(at, area, self.dtype)
                rows = [values[4 * i : 4 * i + 4] for i in range(4)]
                pixels = self._finite(self._both_sides(RESULT, rows), source, panel, column)
                bias = self.moved(self.pointer["bias"], b.add(left, column), self.dtype)
                more = b.load(bias, self.dtype, self.lanes)
                for i, row in enumerate(pixels):
                    for j, pixel in enumerate(row):
                        beside = self._place(addend, "addend", i, j)
                        total = self._plus(b.add(pixel, more), given, beside, column)
                        total = clamped(b, total, *(self.bound(n) for n in ("low", "high")))
                        to = self.moved(self._place(corner, "result", i, j), column, self.dtype)
                        b.store(to, total)

    def _finite(
        self, pixels: Sequence[Sequence[Val]], source: Ptr, panel: Val, column: Val
    ) -> list[list[Val]]:
        """The pixels; if one is not finite, all of them as plain sums."""
        b = self.b
        flat = [pixel for row in pixels for pixel in row]
        zero = b.const(0, self.dtype, self.lanes)
        nothing = zero
        for pixel in flat:
            nothing = b.fma(pixel, zero, nothing)
        lost = b.any(b.isnan(nothing))
        start = [b.select(b.broadcast(lost, self.lanes), zero, pixel) for pixel in flat]
        rows = b.select(lost, self.const(3), self.const(0))
        weights = b.mul(b.mul(panel, self.const(9)), b.mul(self.size["k"], self.width))
        plain = self.moved(self.pointer["plain"], b.add(weights, column), self.dtype)

        def row(down: Val, sums: Sequence[Val]) -> list[Val]:
            return self.summed(
                self._up_to(self.const(3)), sums,
                lambda across, sums: self._channels(source, plain, (down, across), sums),
            )  # fmt: skip

        flat = self.summed(self._up_to(rows), start, row)
        return [flat[:2], flat[2:]]

    def _channels(
        self, source: Ptr, plain: Ptr, place: tuple[Val, Val], sums: Sequence[Val]
    ) -> list[Val]:
        """Adds the terms of one position of the window to the four pixels."""
        b = self.b
        down, across = place
        corner = self._moved_by(source, "image", down, across)
        first = b.mul(b.add(b.mul(down, self.const(3)), across), self.size["k"])

        def channel(number: Val, sums: Sequence[Val]) -> list[Val]:
            row = b.mul(b.add(first, number), self.width)
            weight = b.load(self.moved(plain, row, self.dtype), self.dtype, self.lanes)
            result = []
            for sum, (i, j) in zip(sums, ((0, 0), (0, 1), (1, 0), (1, 1)), strict=True):
                at = self.moved(self._place(corner, "image", i, j), number, self.dtype)
                one = b.broadcast(b.load(at, self.dtype, 1), self.lanes)
                result.append(b.fma(one, weight, sum))
            return result

        return self.summed(self._up_to(self.size["k"]), sums, channel)

    def _up_to(self, count: Val) -> tuple[Val, Val, Val]:
        return self.const(0), count, self.const(1)

    def _plus(self, x: Val, given: Val, addend: Ptr, column: Val) -> Val:
        b = self.b

        def sum() -> Val:
            at = self.moved(addend, column, self.dtype)
            return b.add(x, b.load(at, self.dtype, self.lanes))

        return b.branch(given, sum, lambda: x)

    # -- transforms --------------------------------------------------------------------------------

    def _both_sides(
        self, matrix: Sequence[Sequence[int]], values: Sequence[Sequence[Val]]
    ) -> list[list[Val]]:
        """matrix · values · matrixᵀ"""
        columns = zip(*values, strict=True)
        halves = list(
            zip(*([self._mixed(r, column) for r in matrix] for column in columns), strict=True)
        )
        return [[self._mixed(r, half) for r in matrix] for half in halves]

    def _mixed(self, factors: Sequence[int], values: Sequence[Val]) -> Val:
        """The sum of the values with factor 1, minus those with factor -1."""
        plus = [v for f, v in zip(factors, values, strict=True) if f == 1]
        minus = [v for f, v in zip(factors, values, strict=True) if f == -1]
        total = plus[0]
        for value in plus[1:]:
            total = self.b.add(total, value)
        for value in minus:
            total = self.b.sub(total, value)
        return total
