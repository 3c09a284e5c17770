"""The k largest scores of each row with their softmax, as mixture-of-experts routers need them: f32
and f64, any strides. Threads share the rows. One pass over a row keeps the k largest in a sorted
list; NaN counts as largest, and of equal scores the first comes first. Results do not depend on the
number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from ingot.codegen.jit.jit import compile_module
from ingot.codegen.jit.lazy import OnceStored
from ingot.codegen.jit.native import Native
from ingot.codegen.loops.reduce import across_lanes
from ingot.codegen.mlir.functions import I64, Writer
from ingot.codegen.mlir.openmp import openmp_declarations
from ingot.machine import this_machine
from ingot.ops.polynomials.exponential import exp
from ingot.ops.values import Ptr, Val

MOST = 64
"""The largest k: inserting takes k steps."""
OUTER = 3
"""Dimensions before the last."""
FIELDS = (
    "scores", "weights", "indices", "rows", "n", "k", "step",
    *(f"{name}{d}" for d in range(OUTER) for name in ("size", "step")),
)  # fmt: skip
"""The frame. `step` is the stride of the last dimension of the scores, `step0` … of the others. The
results are contiguous."""
POINTERS = FIELDS[:3]
WORK_PER_THREAD = 1 << 13
"""Scores that are worth a thread."""


@dataclass(frozen=True)
class TopkForm:
    """The parameters of the generated code."""

    dtype: torch.dtype
    over_all: bool
    """Whether the softmax is over all scores of a row, or over the k largest."""
    side_by_side: bool
    """Whether the scores of a row are contiguous."""


def routing_function(form: TopkForm) -> int:
    """The address of the kernel, in the executor's calling convention."""
    return _compiled(form).addresses["topk_softmax"]


@OnceStored
def _compiled(form: TopkForm) -> Native:
    task = _Task(form)
    functions = {"task": task.text(), "topk_softmax": _entry()}
    declared = {**openmp_declarations(), **task.b.declarations}
    return compile_module(list(declared.values()), functions)


class _Task(Writer):
    """The function of each thread: its share of the rows."""

    def __init__(self, form: TopkForm):
        super().__init__()
        self.form, self.dtype = form, form.dtype
        self.lanes = this_machine().vector_bits // 8 // form.dtype.itemsize
        self.kept = self.stack(MOST, form.dtype)
        self.places = self.stack(MOST, I64)
        """Indices of the scores that are kept; -1: none is."""
        self.read_frame(FIELDS, POINTERS)

    def text(self) -> str:
        low, high = self.share(self.size["rows"], *self.team())
        with self.loop(low, high, self.const(1)) as row:
            scores = self._row(row)
            self._select(scores)
            self._weigh(scores, row)
        return self.function("task")

    def _row(self, row: Val) -> Ptr:
        b, offset = self.b, self.const(0)
        for d in reversed(range(OUTER)):
            size = self.size[f"size{d}"]
            offset = b.add(offset, b.mul(b.rem(row, size), self.size[f"step{d}"]))
            row = b.div(row, size)
        return self.moved(self.pointer["scores"], offset, self.dtype)

    # -- the k largest -----------------------------------------------------------------------------

    def _select(self, scores: Ptr) -> None:
        b, zero, one = self.b, self.const(0), self.const(1)
        with self.loop(zero, self.size["k"], one) as j:
            b.store(self._kept(j), b.const(0.0, self.dtype))
            b.store(self._place(j), self.const(-1))
        last = b.sub(self.size["k"], one)
        with self.loop(zero, self.size["n"], one) as i:
            score = b.load(self._score(scores, i), self.dtype, 1)
            with self.when(self._beats(score, last)):
                self._insert(score, i)

    def _insert(self, score: Val, i: Val) -> None:
        """Inserts the score before the first that it beats; that one and the rest move by one."""
        b = self.b

        def step(j: Val, carried: Sequence[Val]) -> list[Val]:
            moving, score, place = carried
            moves = b.or_(moving, self._beats(score, j))
            old, old_place = b.load(self._kept(j), self.dtype, 1), b.load(self._place(j), I64, 1)
            b.store(self._kept(j), b.select(moves, score, old))
            b.store(self._place(j), b.select(moves, place, old_place))
            return [moves, b.select(moves, old, score), b.select(moves, old_place, place)]

        start = [b.const(0, torch.bool), score, i]
        self.summed((self.const(0), self.size["k"], self.const(1)), start, step)

    def _beats(self, score: Val, j: Val) -> Val:
        """Whether it is larger than the j-th score that is kept, or none is kept there."""
        b = self.b
        kept, place = b.load(self._kept(j), self.dtype, 1), b.load(self._place(j), I64, 1)
        is_first_nan = b.and_(b.isnan(score), b.not_(b.isnan(kept)))
        larger = b.or_(b.cmp("gt", score, kept), is_first_nan)
        return b.or_(b.cmp("lt", place, self.const(0)), larger)

    # -- their softmax -----------------------------------------------------------------------------

    def _weigh(self, scores: Ptr, row: Val) -> None:
        b, k, one = self.b, self.size["k"], self.const(1)
        highest = b.load(self._kept(self.const(0)), self.dtype, 1)
        if not self.form.over_all:
            total = self._total(k, highest, self._kept, self.lanes)
        else:
            lanes = self.lanes if self.form.side_by_side else 1
            total = self._total(self.size["n"], highest, lambda i: self._score(scores, i), lanes)
        start = b.mul(row, k)
        with self.loop(self.const(0), k, one) as j:
            weight = b.div(exp(b, b.sub(b.load(self._kept(j), self.dtype, 1), highest)), total)
            at = b.add(start, j)
            b.store(self.moved(self.pointer["weights"], at, self.dtype), weight)
            place = b.load(self._place(j), I64, 1)
            b.store(self.moved(self.pointer["indices"], at, I64), place)

    def _total(self, count: Val, highest: Val, at: Callable[[Val], Ptr], lanes: int) -> Val:
        """The sum of exp(x - highest) over `count` values."""
        b = self.b
        wide, zero = b.broadcast(highest, lanes), b.const(0.0, self.dtype, lanes)

        def step(i: Val, sums: Sequence[Val]) -> list[Val]:
            rest = b.broadcast(b.sub(count, i), lanes)
            mask = b.cmp("lt", b.iota(lanes), rest)
            x = b.load(at(i), self.dtype, lanes, mask)
            return [b.add(sums[0], b.select(mask, exp(b, b.sub(x, wide)), zero))]

        (sums,) = self.summed((self.const(0), count, self.const(lanes)), [zero], step)
        return across_lanes(b, "sum", (sums,))[0]

    # -- addresses ---------------------------------------------------------------------------------

    def _score(self, scores: Ptr, i: Val) -> Ptr:
        step = self.const(1) if self.form.side_by_side else self.size["step"]
        return self.moved(scores, self.b.mul(i, step), self.dtype)

    def _kept(self, j: Val) -> Ptr:
        return self.moved(self.kept, j, self.dtype)

    def _place(self, j: Val) -> Ptr:
        return self.moved(self.places, j, I64)


def _entry() -> str:
    w = Writer()
    w.read_frame(FIELDS, POINTERS)
    work = w.b.mul(w.size["rows"], w.size["n"])
    w.in_parallel(w.b.div(work, w.const(WORK_PER_THREAD)))
    return w.function("topk_softmax", result=w.const(0))
