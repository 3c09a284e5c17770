"""Sums squared deviations in the same pass as the mean: Σ(x - m)² is Σx² - m Σx, one pass over the
row instead of two. The difference is used only if at least half of Σx² remains, so that
cancellation costs at most one bit. If the mean outweighs the spread, or a value is not finite, the
row is read again and the squares are summed around the mean itself. A spread in f64 of distances in
f32 is summed in f32 first, and in f64 only if that overflowed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import torch

from ingot.fuse import index as ix
from ingot.fuse.expr import Apply, Expr, Operand, Reduce
from ingot.ops.values import Ptr, Val

if TYPE_CHECKING:
    from ingot.codegen.loops.rows import Phases, RowWriter

aten = torch.ops.aten
FEWEST = 32
"""Rows of fewer elements are read twice, which takes up to twice as long: the rounding errors of so
few do not cancel, and the lost bit shows in comparison with eager."""


@dataclass(frozen=True)
class SquaredDeviations:
    around: Reduce
    """Σ(x - mean)²"""
    mean: Expr
    total: Reduce
    """Σx, from which the mean is computed."""
    squares: Reduce
    """Σx², summed in the same pass as the total."""


def spreads_of(phases: Phases) -> dict[int, list[SquaredDeviations]]:
    """The passes that only sum squares around means from the previous pass."""
    found: dict[int, list[SquaredDeviations]] = {}
    for number in range(1, phases.count):
        if number - 1 in found:
            continue
        spreads = [_spread(r, phases.reductions[number - 1]) for r in phases.reductions[number]]
        known = [spread for spread in spreads if spread is not None]
        if known and len(known) == len(spreads) and not phases.stores[number]:
            found[number] = known
    return found


def in_narrow(reduce: Reduce) -> Reduce | None:
    """The spread in f32 of the distances that this one widens from f32 to f64. Only the
    decomposition of `var` makes such spreads."""
    wide = reduce.operand
    if reduce.kind != "spread" or not isinstance(wide, Apply):
        return None
    if wide.target is not aten._to_copy.default or wide.dtype is not torch.float64:
        return None
    distance = wide.operands[wide.names.index("self")]
    if not isinstance(distance, Expr) or distance.dtype is not torch.float32:
        return None
    return Reduce(torch.float32, "spread", distance, reduce.over, 0, None)


def _spread(around: Reduce, before: Sequence[Reduce]) -> SquaredDeviations | None:
    if around.kind != "spread":
        return None
    narrow = in_narrow(around) or around
    x, mean = _operands(narrow.operand, aten.sub.Tensor, narrow.dtype)
    total, _ = _operands(mean, aten.div.Tensor, narrow.dtype)
    if not isinstance(total, Reduce) or total not in before:
        return None
    if (total.kind, total.operand, total.over) != ("sum", x, around.over):
        return None
    length = ix.product([v.size for v in total.over])
    if isinstance(length, int) and length < FEWEST:
        return None
    squares = Reduce(total.dtype, "squares", total.operand, total.over, 0, None)
    return SquaredDeviations(around, mean, total, squares)


def _operands(expr: Operand, target: object, dtype: torch.dtype) -> tuple[Operand, Operand]:
    """The operands of a call of `target` that computes in `dtype` and does not scale."""
    if not isinstance(expr, Apply) or expr.target is not target:
        return None, None
    if expr.dtype is not dtype or expr.compute is not dtype:
        return None, None
    by_name = dict(zip(expr.names, expr.operands, strict=True))
    plain = by_name.get("alpha", 1) == 1
    return (by_name["self"], by_name["other"]) if plain else (None, None)


def write_spreads(w: RowWriter, spreads: Sequence[SquaredDeviations]) -> None:
    """Computes spreads from the sums of the previous pass; if these are too inexact, with another
    pass."""
    b = w.b
    slots, believed = [], []
    for spread in spreads:
        squares, total, mean = map(w.value, (spread.squares, spread.total, spread.mean))
        found = b.fma(b.neg(total), mean, squares)
        half = b.cmp("ge", b.add(found, found), squares)
        believed.append(b.and_(half, _is_finite(w, squares)))
        slots.append(w.slot(spread.around.dtype, found.lanes))
        w.put(slots[-1], b.cast(found, spread.around.dtype))
    with b.when(_any_not(w, believed)), w.scope():
        w.phase([spread.around for spread in spreads], [])
        results = [w.value(spread.around) for spread in spreads]
        for slot, result in zip(slots, results, strict=True):
            w.put(slot, result)
    for spread, slot, result in zip(spreads, slots, results, strict=True):
        known = w.get(slot, result.dtype, result.lanes)
        if result.name in b.short_nans:
            b.short_nans.add(known.name)
        w.memo[-1][spread.around] = known


def write_widened(w: RowWriter, narrow: Mapping[Reduce, Reduce]) -> None:
    """Spreads in f64 from the accumulators of the finished ones in f32 (f64 → f32); if some of
    these overflowed, with another pass."""
    b, believed = w.b, []
    slots: dict[Reduce, list[Ptr]] = {}

    def known(reduce: Reduce) -> tuple[Val, ...]:
        """The accumulators, for threads that share a row, and the result."""
        return *w.finished[reduce], w.value(reduce)

    for wide, done in narrow.items():
        values = known(done)
        believed.append(_is_finite(w, values[0]))
        slots[wide] = [w.slot(wide.dtype, value.lanes) for value in values]
        for slot, value in zip(slots[wide], values, strict=True):
            w.put(slot, b.cast(value, wide.dtype))
    lanes = believed[0].lanes
    with b.when(_any_not(w, believed)), w.scope():
        w.pass_over(list(narrow), [])
        for wide in narrow:
            for slot, value in zip(slots[wide], known(wide), strict=True):
                w.put(slot, value)
    for wide in narrow:
        *accumulators, result = (w.get(slot, wide.dtype, lanes) for slot in slots[wide])
        w.finished[wide], w.memo[-1][wide] = tuple(accumulators), result


def _is_finite(w: RowWriter, squares: Val) -> Val:
    return w.b.cmp("lt", squares, w.b.const(math.inf, squares.dtype))


def _any_not(w: RowWriter, believed: Sequence[Val]) -> Val:
    """Whether any lane of any of these is false."""
    b = w.b
    doubted = b.not_(reduce(b.and_, believed))
    if w.tail is not None and doubted.lanes > 1:
        doubted = b.and_(doubted, w.tail)
    return b.any(doubted)
