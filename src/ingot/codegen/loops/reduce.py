"""Accumulators of reductions: combines an element, or the accumulators of two parts. The order of
combination depends on sizes only, never on the number of threads. NaN wins in max and min; arg
reductions keep the first of equals, as eager does.
"""

from __future__ import annotations

import math

import torch

from ingot.codegen.mlir.builder import Builder
from ingot.ops.dtypes import is_float
from ingot.ops.values import Val

Accumulators = tuple[Val, ...]
ADDED = ("sum", "squares", "spread")
"""Kinds whose accumulators are sums: of elements; of their squares; of squared deviations from a
mean and of the deviations."""


def is_positional(kind: str) -> bool:
    return kind.startswith("arg")


def identity(
    b: Builder, kind: str, dtype: torch.dtype, lanes: int, position: torch.dtype = torch.int64
) -> Accumulators:
    """The neutral element of `combine`. Its position is 0: if nothing beats the worst value, the
    first element is the result."""
    if kind in (*ADDED, "any"):
        return (b.const(0, dtype, lanes),) * (2 if kind == "spread" else 1)
    if kind in ("prod", "all"):
        return (b.const(1, dtype, lanes),)
    top = kind in ("max", "argmax")
    value = b.const(_lowest(dtype) if top else _highest(dtype), dtype, lanes)
    if not is_positional(kind):
        return (value,)
    return value, b.const(0, position, lanes)


def _lowest(dtype: torch.dtype) -> float:
    if dtype is torch.bool:
        return 0
    return -math.inf if is_float(dtype) else torch.iinfo(dtype).min


def _highest(dtype: torch.dtype) -> float:
    if dtype is torch.bool:
        return 1
    return math.inf if is_float(dtype) else torch.iinfo(dtype).max


def combine(b: Builder, kind: str, a: Accumulators, x: Accumulators) -> Accumulators:
    if kind in ADDED:
        return tuple(map(b.add, a, x))
    if kind == "prod":
        return (b.mul(a[0], x[0]),)
    if kind == "any":
        return (b.or_(a[0], x[0]),)
    if kind == "all":
        return (b.and_(a[0], x[0]),)
    if kind == "max":
        return (b.maximum(a[0], x[0]),)
    if kind == "min":
        return (b.minimum(a[0], x[0]),)
    return _better(b, kind, a, x)


def _better(b: Builder, kind: str, a: Accumulators, x: Accumulators) -> Accumulators:
    """The better of two (value, position): NaN beats numbers; of equals, the first position."""
    beats = b.cmp("gt" if kind == "argmax" else "lt", x[0], a[0])
    same = b.cmp("eq", x[0], a[0])
    if is_float(x[0].dtype):
        x_nan, a_nan = b.isnan(x[0]), b.isnan(a[0])
        beats = b.or_(beats, b.and_(x_nan, b.not_(a_nan)))
        same = b.or_(same, b.and_(x_nan, a_nan))
    earlier = b.and_(same, b.cmp("lt", x[1], a[1]))
    take = b.or_(beats, earlier)
    return b.select(take, x[0], a[0]), b.select(take, x[1], a[1])


def advance(b: Builder, kind: str, a: Accumulators, x: Accumulators) -> Accumulators:
    """`combine` with an element after all those in `a`."""
    if kind in ("squares", "spread"):
        return b.fma(x[0], x[0], a[0]), *(b.add(each, x[0]) for each in a[1:])
    if not is_positional(kind):
        return combine(b, kind, a, x)
    take = b.not_(b.cmp("le" if kind == "argmax" else "ge", x[0], a[0]))
    if is_float(x[0].dtype):
        take = b.and_(take, b.cmp("eq", a[0], a[0]))
    return b.select(take, x[0], a[0]), b.select(take, x[1], a[1])


def corrected(b: Builder, accumulators: Accumulators, count: Val) -> Val:
    """The result of a spread. Deviations from the true mean would add up to 0; if they do not, the
    excess of the squares is subtracted, unless it overflows."""
    squares, rest = accumulators
    extra = b.div(b.mul(rest, rest), b.cast(count, rest.dtype))
    less = b.maximum(b.sub(squares, extra), b.const(0, rest.dtype))
    return b.select(b.cmp("lt", extra, b.const(math.inf, rest.dtype)), less, squares)


def across_lanes(b: Builder, kind: str, accumulators: Accumulators) -> Accumulators:
    """One accumulator from the lanes of a vector, by halving."""
    lanes = accumulators[0].lanes
    while lanes > 1:
        lanes //= 2
        low = tuple(_half(b, v, 0, lanes) for v in accumulators)
        high = tuple(_half(b, v, lanes, lanes) for v in accumulators)
        accumulators = combine(b, kind, low, high)
    return accumulators


def _half(b: Builder, x: Val, start: int, lanes: int) -> Val:
    return b.lane(x, start) if lanes == 1 else b.lanes_from(x, start, lanes)


def prefix(b: Builder, kind: str, x: Val, neutral: Val) -> Val:
    """Lane k combined with all previous lanes, by doubling."""
    step = 1
    while step < x.lanes:
        shifted = b.shuffle(neutral, x, range(x.lanes - step, 2 * x.lanes - step))
        (x,) = combine(b, kind, (shifted,), (x,))
        step *= 2
    return x
