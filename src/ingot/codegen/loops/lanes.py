"""Chooses how many lanes the vectors of a kernel have, from its Nest and the cost of an element,
and the order of the lanes. One lane: there is nothing to vectorise.
"""

from __future__ import annotations

from math import gcd

import torch

from ingot.codegen.loops.columns import is_columnar
from ingot.codegen.loops.looping import MOST_CUTS, cuts_of
from ingot.codegen.loops.reduce import is_positional
from ingot.codegen.loops.variance import in_narrow
from ingot.codegen.mlir.builder import CACHE_LINE
from ingot.fuse.expr import Expr, Load, Reduce, Scan
from ingot.fuse.loops import Nest
from ingot.machine import this_machine
from ingot.ops.dtypes import HALVES, NATIVE_DTYPES
from ingot.options import Options

COLUMNS = (2048, 1024, 512)
"""Bytes that a sum down columns reads of each row, in order of preference: rows lie on different
pages, so it reads the longest piece that leaves no remainder."""


def choose_lanes(nest: Nest, cost: int, options: Options) -> int:
    if nest.vector is None or options.vector_bits == 1:
        return 1
    register = register_bytes(options)
    sizes = [e.dtype.itemsize for e in _usual(nest) if e.dtype in NATIVE_DTYPES]
    widest = max(sizes, default=4)
    if nest.across is not None:
        # Whole cache lines: the next store to a line may come too late.
        lanes = max(CACHE_LINE, register) // _narrowest(nest)
    else:
        lanes = max(2, _width(nest, cost, register, max(4, widest)) // max(4, widest))
    size = nest.vector.size
    if isinstance(size, int):
        lanes = min(lanes, 1 << (size - 1).bit_length())
    return max(1, _within_cuts(nest, lanes, register // max(4, widest)))


def _usual(nest: Nest) -> list[Expr]:
    """Expressions that every row computes for its elements: not those of a pass in f64 that follows
    an overflow, nor those of its result."""
    rare: set[Expr] = set()
    for expr in nest.expressions():
        if isinstance(expr, Reduce) and in_narrow(expr) is not None:
            rare |= {expr.operand, expr}
        elif not rare.isdisjoint(expr.children()):
            rare.add(expr)
    return [expr for expr in nest.expressions() if expr not in rare]


def _within_cuts(nest: Nest, lanes: int, fewest: int) -> int:
    """Reduces the lanes so that steps end where a guard changes, if whole registers remain."""
    assert nest.vector is not None
    if nest.across is not None or not isinstance(nest.vector.size, int):
        return lanes
    cuts = cuts_of(nest.vector, nest.expressions())
    if not 0 < len(cuts) <= MOST_CUTS:
        return lanes
    even = gcd(*cuts, nest.vector.size)
    return lanes if even % lanes == 0 or even % fewest else gcd(even, lanes)


def in_pairs(nest: Nest, lanes: int, options: Options) -> bool:
    """Whether lanes hold even positions first. Needs two registers, so that each half fills one."""
    return lanes * 4 >= 2 * register_bytes(options) and comes_in_pairs(nest)


def comes_in_pairs(nest: Nest) -> bool:
    """Whether most accesses along the vector are bf16. Other dtypes have to be permuted."""
    if nest.across is not None or any(isinstance(e, Scan) for e in nest.expressions()):
        return False
    assert nest.vector is not None
    loads = [(e.index, e.dtype) for e in nest.expressions() if isinstance(e, Load)]
    moved = [*loads, *((s.index, s.value.dtype) for s in nest.stores)]
    along = [dtype for index, dtype in moved if index.coefficient(nest.vector) == 1]
    pairs = along.count(torch.bfloat16)
    return pairs > len(along) - pairs


def register_bytes(options: Options) -> int:
    return (options.vector_bits or this_machine().vector_bits) // 8


def _narrowest(nest: Nest) -> int:
    """Bytes of the narrowest element in memory; a bool counts as four, because each takes code."""
    dtypes = [s.value.dtype for s in nest.stores]
    dtypes += [e.dtype for e in nest.expressions() if isinstance(e, Load)]
    return min(4 if dtype is torch.bool else dtype.itemsize for dtype in dtypes)


def _waits(reduce: Reduce) -> bool:
    """Whether each step waits long for the previous one in the same lanes: two comparisons and two
    selects for the position of a maximum. Of wide elements fewer lanes fit the registers."""
    return is_positional(reduce.kind) and reduce.operand.dtype.itemsize <= 4


def _width(nest: Nest, cost: int, register: int, element: int) -> int:
    """Bytes of a value in one step of the vector loop."""
    assert nest.vector is not None
    if cost > 150 or any(isinstance(e, Scan) for e in nest.expressions()):
        return register
    if is_columnar(nest, cost):
        return register * 4
    down_columns = bool(nest.inner) and nest.vector not in nest.inner
    if down_columns and cost <= 8:
        size = nest.vector.size
        whole = (n for n in COLUMNS if isinstance(size, int) and size % (n // element) == 0)
        return next(whole, COLUMNS[-1])
    reductions = [e for e in nest.expressions() if isinstance(e, Reduce)]
    if reductions and all(map(_waits, reductions)):
        return register * 8
    if comes_in_pairs(nest):
        return register * 4
    # Half-precision values fill whole registers only with twice as many lanes.
    packed = not nest.inner and all(s.value.dtype in HALVES for s in nest.stores)
    return register * (4 if cost <= 30 else 2) * (2 if packed else 1)
