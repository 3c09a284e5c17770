"""Attention kernel: softmax(scale · Q · Kᵀ + mask) · V for every head, in f32 and f64. Q, K, V, the
mask and the result are strided.

Scores exist only for a block of queries by a block of keys. A thread packs keys and values once for
all its queries of a head, or reads them in place if it has few queries. A query that may attend to
no key gives zeros, as in PyTorch's kernel. Results do not depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from ingot.codegen.jit.jit import compile_module
from ingot.codegen.jit.lazy import OnceStored
from ingot.codegen.jit.native import Native
from ingot.codegen.loops.gemm import call_tile
from ingot.codegen.loops.reduce import across_lanes
from ingot.codegen.loops.transpose_tile import transposed
from ingot.codegen.mlir.functions import Writer
from ingot.codegen.mlir.openmp import openmp_declarations
from ingot.linkage import declared
from ingot.ops.kernel_shapes import Shape, dividing_shape, matmul_shape
from ingot.ops.polynomials.exponential import exp
from ingot.ops.values import Ptr, Val

QUERIES = 48
KEYS = 512
"""A block of scores: with its keys and values it stays in the L2 cache."""
FEW = 4
"""Queries for which packing the keys does not pay, if nothing was measured."""
TOGETHER = 4
"""Keys whose scores are summed at the same time."""
FIELDS = (
    "q", "k", "v", "mask", "out",
    "images", "heads", "queries", "keys", "width", "sharing",
    "q_image", "q_head", "q_row", "k_image", "k_head", "k_row", "v_image", "v_head", "v_row",
    "mask_image", "mask_head", "mask_row", "mask_step", "out_image", "out_head", "out_row",
    "causal", "scale", "few", "work_per_thread",
)  # fmt: skip
"""The frame. `sharing` heads of Q share one of K and V; `mask` may be null; `scale` is the bits of
an f64; with `few`, keys and values are read in place. The elements of a row are contiguous, except
the mask's."""
_POINTERS = ("q", "k", "v", "mask", "out")


def attention_function(dtype: torch.dtype, width: int) -> int:
    """The address of the kernel for heads of this width, in the executor's calling convention."""
    shape = dividing_shape(dtype, width)
    assert shape is not None
    return _compiled(shape).addresses["attention"]


@OnceStored
def _compiled(shape: Shape) -> Native:
    task = _Task(shape)
    functions = {"task": task.text(), "attention": _entry()}
    declared = {**openmp_declarations(), **task.b.declarations}
    return compile_module([*declared.values(), *_memory_declarations()], functions)


def begin(dtype: torch.dtype) -> None:
    """Starts compiling attention for this dtype ahead of time."""
    _compiled.begin(matmul_shape(dtype))


def _memory_declarations() -> list[str]:
    return [
        declared("aligned_alloc", "(i64, i64)", " -> !llvm.ptr"),
        declared("free", "(!llvm.ptr)"),
    ]


class _Task(Writer):
    """The function of each thread: its share of the blocks of queries of all heads."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape, self.dtype = shape, shape.dtype
        self.read_frame(FIELDS, _POINTERS)
        b = self.b
        self.panel = self.const(shape.columns)
        self.scale = b.cast(b.bitcast(self.size["scale"], torch.float64), self.dtype)
        self.blocks = self._ceiling(self.size["queries"], self.const(QUERIES))
        self.few = b.cmp("ne", self.size["few"], self.const(0))

    def text(self) -> str:
        b = self.b
        columns = self._ceiling(self.const(KEYS), self.panel)
        assert KEYS % self.shape.columns == 0
        block = b.mul(b.mul(columns, self.panel), self.size["width"])
        rows = b.mul(self.blocks, self.const(QUERIES))
        parts = [block, block, self.const(QUERIES * KEYS), rows, rows, self.panel]
        memory = self._memory(parts)
        self.keys, self.values, self.scores, self.highest, self.totals, self.zeros = memory
        self._fill(self.zeros, self.panel, 0.0)
        units = b.mul(b.mul(self.size["images"], self.size["heads"]), self.blocks)
        low, high = self.share(units, *self.team())
        with self.when(b.cmp("lt", low, high)):
            first, last = b.div(low, self.blocks), b.div(b.sub(high, self.const(1)), self.blocks)
            with self.loop(first, b.add(last, self.const(1)), self.const(1)) as head:
                begin = b.maximum(b.sub(low, b.mul(head, self.blocks)), self.const(0))
                end = b.minimum(b.sub(high, b.mul(head, self.blocks)), self.blocks)
                self._head(head, begin, end)
        b.release(memory[0])
        return self.function("task")

    # -- a head ------------------------------------------------------------------------------------

    def _head(self, number: Val, begin: Val, end: Val) -> None:
        """Blocks of queries from `begin` to `end` of one head of one image."""
        b = self.b
        image, head = b.div(number, self.size["heads"]), b.rem(number, self.size["heads"])
        at = {n: self._start(n, image, head) for n in ("q", "mask", "out")}
        group = b.div(head, self.size["sharing"])
        at |= {n: self._start(n, image, group) for n in ("k", "v")}
        self._fill(self.highest, b.mul(self.blocks, self.const(QUERIES)), -math.inf)
        self._fill(self.totals, b.mul(self.blocks, self.const(QUERIES)), 0.0)
        with self.loop(self.const(0), self.size["keys"], self.const(KEYS)) as low:
            count = b.minimum(self.const(KEYS), b.sub(self.size["keys"], low))
            columns = b.mul(self._ceiling(count, self.panel), self.panel)
            last = b.sub(b.minimum(b.mul(end, self.const(QUERIES)), self.size["queries"]), low)
            unseen = b.and_(self._causal(), b.cmp("le", last, self.const(0)))
            with self.when(b.not_(unseen)):
                keys = self.moved(at["k"], b.mul(low, self.size["k_row"]))
                values = self.moved(at["v"], b.mul(low, self.size["v_row"]))
                with self.when(b.not_(self.few)):
                    self._pack_keys(keys, count)
                    self._pack_values(values, count)
                here = {**at, "k": keys, "v": values}
                with self.loop(begin, end, self.const(1)) as block:
                    self._block(here, block, low, count, columns)
        with self.loop(b.mul(begin, self.const(QUERIES)), self._last_row(end), self.const(1)) as i:
            self._divide(self.moved(at["out"], b.mul(i, self.size["out_row"])), i)

    def _start(self, name: str, image: Val, head: Val) -> Ptr:
        offset = self.b.add(
            self.b.mul(image, self.size[f"{name}_image"]),
            self.b.mul(head, self.size[f"{name}_head"]),
        )
        return self.moved(self.pointer[name], offset)

    def _last_row(self, end: Val) -> Val:
        return self.b.minimum(self.b.mul(end, self.const(QUERIES)), self.size["queries"])

    def _causal(self) -> Val:
        return self.b.cmp("ne", self.size["causal"], self.const(0))

    # -- packing -----------------------------------------------------------------------------------

    def _pack_keys(self, start: Ptr, count: Val) -> None:
        """Kᵀ, scaled, as panels of keys, padded with the last key."""
        b, lanes = self.b, self.shape.lanes
        panels = self._ceiling(count, self.panel)
        side = self.const(lanes)
        last = b.sub(count, self.const(1))
        scale = b.broadcast(self.scale, lanes)
        with self.loop(self.const(0), b.mul(panels, self.panel), side) as key:
            to = b.mul(b.div(key, self.panel), b.mul(self.panel, self.size["width"]))
            to = b.add(to, b.rem(key, self.panel))
            rows = [b.minimum(b.add(key, self.const(i)), last) for i in range(lanes)]
            starts = [self.moved(start, b.mul(row, self.size["k_row"])) for row in rows]
            with self.loop(self.const(0), self.size["width"], side) as at:
                square = [b.load(self.moved(s, at), self.dtype, lanes) for s in starts]
                for i, row in enumerate(transposed(b, square)):
                    place = b.add(to, b.mul(b.add(at, self.const(i)), self.panel))
                    b.store(self.moved(self.keys, place), b.mul(row, scale))

    def _pack_values(self, start: Ptr, count: Val) -> None:
        """V as panels of its columns."""
        b, lanes = self.b, self.shape.lanes
        with self.loop(self.const(0), count, self.const(1)) as key:
            row = self.moved(start, b.mul(key, self.size["v_row"]))
            with self.loop(self.const(0), self.size["width"], self.panel) as at:
                to = b.add(b.mul(at, self.const(KEYS)), b.mul(key, self.panel))
                for j in range(self.shape.vectors):
                    step = self.const(j * lanes)
                    value = b.load(self.moved(row, b.add(at, step)), self.dtype, lanes)
                    b.store(self.moved(self.values, b.add(to, step)), value)

    # -- a block of queries by a block of keys -----------------------------------------------------

    def _block(self, at: dict[str, Ptr], block: Val, low: Val, count: Val, columns: Val) -> None:
        b = self.b
        top = b.mul(block, self.const(QUERIES))
        bottom = b.minimum(b.add(top, self.const(QUERIES)), self.size["queries"])
        rows = b.sub(bottom, top)
        seen = b.minimum(columns, b.mul(self._ceiling(b.sub(bottom, low), self.panel), self.panel))
        columns = b.select(self._causal(), seen, columns)
        with self.when(b.cmp("gt", columns, self.const(0))):
            q = self.moved(at["q"], b.mul(top, self.size["q_row"]))
            with self.when(self.few):
                self._sum_scores(q, at["k"], rows, count)
            with self.when(b.not_(self.few)):
                self._multiply_scores(q, rows, columns)
            with self.loop(self.const(0), rows, self.const(1)) as i:
                query = b.add(top, i)
                here = self.moved(self.scores, b.mul(i, self.const(KEYS)))
                out = self.moved(at["out"], b.mul(query, self.size["out_row"]))
                first = b.cmp("eq", low, self.const(0))
                self._add_mask(here, at["mask"], query, low, count)
                self._hide(here, query, low, count, columns)
                self._exponentials(here, columns, query, out, first)
            out = self.moved(at["out"], b.mul(top, self.size["out_row"]))
            self._multiply_values(out, at["v"], rows, b.minimum(columns, count))

    def _sum_scores(self, q: Ptr, k: Ptr, rows: Val, count: Val) -> None:
        """Scores of a few queries as dot products."""
        b, lanes = self.b, self.shape.lanes
        last = b.sub(count, self.const(1))
        zeros = [b.const(0.0, self.dtype, lanes)] * TOGETHER
        extent = (self.const(0), self.size["width"], self.const(lanes))
        with (
            self.loop(self.const(0), rows, self.const(1)) as i,
            self.loop(self.const(0), count, self.const(TOGETHER)) as key,
        ):
            query = self.moved(q, b.mul(i, self.size["q_row"]))
            places = [b.minimum(b.add(key, self.const(n)), last) for n in range(TOGETHER)]
            starts = [self.moved(k, b.mul(place, self.size["k_row"])) for place in places]

            def step(at: Val, sums: Sequence[Val]) -> list[Val]:
                left = b.load(self.moved(query, at), self.dtype, lanes)
                right = [b.load(self.moved(start, at), self.dtype, lanes) for start in starts]
                return [b.fma(left, x, total) for x, total in zip(right, sums, strict=True)]

            to = self.moved(self.scores, b.mul(i, self.const(KEYS)))
            sums = self.summed(extent, zeros, step)
            for place, total in zip(places, sums, strict=True):
                score = b.mul(across_lanes(b, "sum", (total,))[0], self.scale)
                b.store(self.moved(to, place), score)

    def _multiply_scores(self, q: Ptr, rows: Val, columns: Val) -> None:
        b = self.b
        with self.loop(self.const(0), columns, self.panel) as column:
            keys = self.moved(self.keys, b.mul(column, self.size["width"]))
            to = self.moved(self.scores, column)
            with self.strips(self.shape.rows, rows) as (height, at):
                call_tile(
                    self, self.shape, height,
                    self.moved(q, b.mul(at, self.size["q_row"])), self.size["q_row"],
                    keys, self.panel, self.zeros, self.const(0),
                    self.moved(to, b.mul(at, self.const(KEYS))), self.const(KEYS),
                    self.size["width"],
                )  # fmt: skip

    def _multiply_values(self, out: Ptr, v: Ptr, rows: Val, keys: Val) -> None:
        b = self.b
        step = b.select(self.few, self.size["v_row"], self.panel)
        with self.loop(self.const(0), self.size["width"], self.panel) as column:
            packed = self.moved(self.values, b.mul(column, self.const(KEYS)))
            values = self.either(self.few, self.moved(v, column), packed)
            to = self.moved(out, column)
            with self.strips(self.shape.rows, rows) as (height, at):
                c = self.moved(to, b.mul(at, self.size["out_row"]))
                call_tile(
                    self, self.shape, height,
                    self.moved(self.scores, b.mul(at, self.const(KEYS))), self.const(KEYS),
                    values, step, c, self.size["out_row"], c, self.size["out_row"], keys,
                )  # fmt: skip

    # -- a row of scores ---------------------------------------------------------------------------

    def _add_mask(self, here: Ptr, mask: Ptr, query: Val, low: Val, count: Val) -> None:
        b, lanes = self.b, self.shape.lanes
        step = self.size["mask_step"]
        row = b.add(b.mul(query, self.size["mask_row"]), b.mul(low, step))
        start = self.moved(mask, row)
        one = self.const(1)

        def add(at: Val, value: Val) -> None:
            place = self.moved(here, at)
            b.store(place, b.add(b.load(place, self.dtype, value.lanes), value))

        with self.when(self.given(self.pointer["mask"])):
            dense = b.cmp("eq", step, one)
            whole = b.mul(b.div(count, self.const(lanes)), self.const(lanes))
            whole = b.select(dense, whole, self.const(0))
            with self.loop(self.const(0), whole, self.const(lanes)) as at:
                add(at, b.load(self.moved(start, at), self.dtype, lanes))
            with self.loop(whole, count, one) as at:
                add(at, b.load(self.moved(start, b.mul(at, step)), self.dtype, 1))

    def _hide(self, here: Ptr, query: Val, low: Val, count: Val, columns: Val) -> None:
        """Gives no weight to padding and, if causal, to later keys."""
        b = self.b
        seen = b.maximum(b.sub(b.add(query, self.const(1)), low), self.const(0))
        count = b.minimum(count, b.select(self._causal(), seen, count))
        with self.loop(count, columns, self.const(1)) as at:
            b.store(self.moved(here, at), b.const(-math.inf, self.dtype))

    def _exponentials(self, here: Ptr, columns: Val, query: Val, out: Ptr, first: Val) -> None:
        """Online softmax: scores become weights relative to the highest score so far; earlier sums,
        relative to a lower one, are rescaled."""
        b, lanes = self.b, self.shape.lanes
        side = self.const(lanes)
        lowest = b.const(-math.inf, self.dtype, lanes)
        extent = (self.const(0), columns, side)
        (top,) = self.summed(
            extent,
            [lowest],
            lambda at, best: [b.maximum(best[0], b.load(self.moved(here, at), self.dtype, lanes))],
        )
        place = self.moved(self.highest, query)
        before = b.load(place, self.dtype, 1)
        highest = b.maximum(before, across_lanes(b, "max", (top,))[0])
        nothing = b.cmp("eq", highest, b.const(-math.inf, self.dtype))
        base = b.select(nothing, b.const(0.0, self.dtype), highest)
        wide = b.broadcast(base, lanes)

        def weigh(at: Val, total: Sequence[Val]) -> list[Val]:
            spot = self.moved(here, at)
            weight = exp(b, b.sub(b.load(spot, self.dtype, lanes), wide))
            b.store(spot, weight)
            return [b.add(total[0], weight)]

        zero = b.const(0.0, self.dtype, lanes)
        (sums,) = self.summed(extent, [zero], weigh)
        fading = exp(b, b.sub(before, base))
        spot = self.moved(self.totals, query)
        total = b.fma(b.load(spot, self.dtype, 1), fading, across_lanes(b, "sum", (sums,))[0])
        b.store(spot, total)
        b.store(place, highest)
        fading = b.broadcast(fading, lanes)
        with self.loop(self.const(0), self.size["width"], side) as at:
            old = self.moved(out, at)
            with self.when(first):
                b.store(old, zero)
            with self.when(b.not_(first)):
                b.store(old, b.mul(b.load(old, self.dtype, lanes), fading))

    def _divide(self, out: Ptr, query: Val) -> None:
        b, lanes = self.b, self.shape.lanes
        total = b.load(self.moved(self.totals, query), self.dtype, 1)
        one = b.const(1.0, self.dtype)
        part = b.div(one, b.select(b.cmp("eq", total, b.const(0.0, self.dtype)), one, total))
        part = b.broadcast(part, lanes)
        some = b.cmp("gt", self.size["keys"], self.const(0))
        with self.loop(self.const(0), self.size["width"], self.const(lanes)) as at:
            place = self.moved(out, at)
            with self.when(some):
                b.store(place, b.mul(b.load(place, self.dtype, lanes), part))
            with self.when(b.not_(some)):
                b.store(place, b.const(0.0, self.dtype, lanes))

    # -- memory ------------------------------------------------------------------------------------

    def moved(self, pointer: Ptr, by: Val, dtype: torch.dtype | None = None) -> Ptr:
        return super().moved(pointer, by, dtype or self.dtype)

    def _ceiling(self, x: Val, by: Val) -> Val:
        return self.b.div(self.b.add(x, self.b.sub(by, self.const(1))), by)

    def _fill(self, start: Ptr, count: Val, value: float) -> None:
        with self.loop(self.const(0), count, self.const(1)) as at:
            self.b.store(self.moved(start, at), self.b.const(value, self.dtype))

    def _memory(self, counts: list[Val]) -> list[Ptr]:
        """Parts of one allocation, each of whole cache lines."""
        b = self.b
        line = self.const(64 // self.dtype.itemsize)
        starts, total = [], self.const(0)
        for count in counts:
            starts.append(total)
            total = b.add(total, b.mul(self._ceiling(count, line), line))
        size = b.mul(total, self.const(self.dtype.itemsize))
        first = b.allocate(size)
        return [first, *(self.moved(first, start) for start in starts[1:])]


def _entry() -> str:
    w = Writer()
    b = w.b
    w.read_frame(FIELDS, _POINTERS)
    size = w.size
    work = b.mul(b.mul(size["images"], size["heads"]), b.mul(size["queries"], size["keys"]))
    w.in_parallel(b.div(b.mul(work, size["width"]), size["work_per_thread"]))
    return w.function("attention", result=w.const(0))
