"""Writes the loops of a kernel as MLIR: scalar loops, vector loops with a masked tail, loops split
into segments, and stack memory. In each segment of a loop the guards on it are constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import sympy
import torch

from ingot.codegen.loops.loop_sizes import I64, emit_size
from ingot.codegen.mlir.range_checks import kernel_builder
from ingot.fuse.expr import Expr, Guarded, ordered
from ingot.fuse.index import Var
from ingot.fuse.loops import Nest
from ingot.ops.values import Ptr, Val
from ingot.program.shapes import Size

Body = Callable[[], None]
MOST_CUTS = 4
"""A loop whose guards change at more positions is not split."""


def cuts_of(var: Var, expressions: Iterable[Expr]) -> list[int]:
    """The positions along a loop of known size at which a guard on it changes."""
    if not isinstance(var.size, int):
        return []
    cuts = set()
    for expr in expressions:
        if (
            isinstance(expr, Guarded)
            and expr.index.terms.keys() == {var}
            and expr.index.terms[var] == 1
        ):
            for bound in (expr.low - expr.index.const, expr.high - expr.index.const):
                if isinstance(bound, int) and 0 < bound < var.size:
                    cuts.add(bound)
    return sorted(cuts)


class LoopWriter:
    """Writes the loops of one body; subclasses write their contents."""

    def __init__(self, nest: Nest, lanes: int, symbols: dict[sympy.Symbol, Val]):
        self.nest = nest
        self.lanes = lanes
        self.b = kernel_builder(lanes)
        self.symbols = symbols
        self.at: dict[Var, Val] = {}
        self.range: dict[Var, tuple[Size, Size]] = {}
        self.limits: dict[Var, tuple[Val, Val]] = {}
        """Loops of which only a part runs; a part of the vector loop starts at a multiple of the
        lanes."""
        self.memo: list[dict[Expr, Val]] = [{}]
        self.tail: Val | None = None

    # -- sizes and stack memory --------------------------------------------------------------------

    def const(self, value: int) -> Val:
        return self.b.const(value, I64)

    def size(self, size: Size) -> Val:
        return emit_size(self.b, size, self.symbols)

    def slot(self, dtype: torch.dtype, lanes: int, count: int = 1) -> Ptr:
        return self.b.slot(dtype, lanes, count)

    def put(self, slot: Ptr, value: Val) -> None:
        self.b.store_register(slot, value)

    def get(self, slot: Ptr, dtype: torch.dtype, lanes: int) -> Val:
        return self.b.load_register(slot, dtype, lanes)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Forgets at its end which values were written within."""
        self.memo.append({})
        yield
        self.memo.pop()

    # -- loops -------------------------------------------------------------------------------------

    def loop(self, var: Var, low: Val, high: Val, body: Body) -> None:
        """A scalar loop."""
        self._steps(var, low, high, self.const(1), body)

    def _steps(self, var: Var, low: Val, high: Val, step: Val, body: Body) -> None:
        with self.b.loop(low, high, step) as at, self.scope():
            self.at[var] = at
            body()
            del self.at[var]

    def vector_loop(self, var: Var, low: Val, high: Val, extent: int | None, body: Body) -> None:
        """A loop in steps of `lanes` with a masked tail. `extent`: high - low if known."""
        lanes = self.lanes
        if lanes == 1:
            self.loop(var, low, high, body)
            return
        step = self.const(lanes)
        if extent is None or extent >= lanes:
            length = self.b.sub(high, low)
            whole = self.b.sub(length, self.b.rem(length, step))
            middle = self.b.add(low, whole)
            self._steps(var, low, middle, step, body)
        else:
            middle = low
        if extent is not None and extent % lanes == 0:
            return
        some = self.b.cmp("lt", middle, high)
        with self.b.when(some), self.scope():
            self.at[var] = middle
            left = self.b.sub(high, middle)
            self.tail = self.b.cmp("lt", self.b.iota(lanes), left)
            body()
            self.tail = None
            del self.at[var]

    def segments(self, var: Var, roots: Iterable[Expr]) -> list[tuple[Size, Size]]:
        """The segments of a loop, in each of which every guard on it is constant."""
        cuts = cuts_of(var, ordered(roots))
        return [(0, var.size)] if len(cuts) > MOST_CUTS else list(pairwise([0, *cuts, var.size]))

    def over(
        self,
        var: Var,
        roots: Sequence[Expr],
        body: Body,
        low: Val | None = None,
        high: Val | None = None,
    ) -> None:
        """The loop of `var`, or its part low … high, segment by segment."""
        if low is None and var in self.limits:
            low, high = self.limits[var]
        parts = self.segments(var, roots)
        for start, end in parts:
            first, last = low or self.size(start), high or self.size(end)
            if len(parts) > 1:
                first = self.b.maximum(first, self.size(start))
                last = self.b.minimum(last, self.size(end))
            known = self._extent(start, end, len(parts) == 1, low is not None)
            self.range[var] = (start, end)
            self.hoist(roots)
            if var is self.nest.vector:
                self.vector_loop(var, first, last, known, body)
            else:
                self.loop(var, first, last, body)
            del self.range[var]

    def _extent(self, start: Size, end: Size, whole: bool, part: bool) -> int | None:
        """The length of the loop, as far as its tail depends on it: of a part only if there is no
        tail."""
        if not isinstance(start, int) or not isinstance(end, int):
            return None
        if part and not (whole and end % self.lanes == 0):
            return None
        return end - start

    def over_all(self, loops: Sequence[Var], roots: Sequence[Expr], body: Body) -> None:
        if not loops:
            self.hoist(roots)
            body()
            return
        self.over(loops[0], roots, lambda: self.over_all(loops[1:], roots, body))

    def hoist(self, roots: Iterable[Expr]) -> None:
        """Writes values that do not depend on loops still to be opened."""
        raise NotImplementedError
