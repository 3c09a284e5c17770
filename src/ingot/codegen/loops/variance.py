"""Sums squared deviations in the same pass as the mean: Σ(x - m)² is Σx² - m Σx, one pass over the
row instead of two. The difference is used only if at least half of Σx² remains, so that
cancellation costs at most one bit. If the mean outweighs the spread, or a value is not finite, the
row is read again and the squares are summed around the mean itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import torch

from ingot.fuse import index as ix
from ingot.fuse.expr import Apply, Expr, Operand, Reduce

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


def _spread(around: Reduce, before: Sequence[Reduce]) -> SquaredDeviations | None:
    if around.kind != "spread":
        return None
    x, mean = _operands(around.operand, aten.sub.Tensor, around.dtype)
    total, _ = _operands(mean, aten.div.Tensor, around.dtype)
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
        finite = b.cmp("lt", squares, b.const(math.inf, squares.dtype))
        believed.append(b.and_(half, finite))
        slots.append(w.slot(found.dtype, found.lanes))
        w.put(slots[-1], found)
    doubted = b.not_(reduce(b.and_, believed))
    if w.tail is not None and doubted.lanes > 1:
        doubted = b.and_(doubted, w.tail)
    with b.when(b.any(doubted)), w.scope():
        w.phase([spread.around for spread in spreads], [])
        results = [w.value(spread.around) for spread in spreads]
        for slot, result in zip(slots, results, strict=True):
            w.put(slot, result)
    for spread, slot, result in zip(spreads, slots, results, strict=True):
        known = w.get(slot, result.dtype, result.lanes)
        if result.name in b.short_nans:
            b.short_nans.add(known.name)
        w.memo[-1][spread.around] = known
