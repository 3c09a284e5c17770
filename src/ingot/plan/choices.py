"""Where a plan may go several ways: products, attention and cut reductions. Comes in: what is done,
the choices of the compilation, and the ranges of the symbols; goes out: a table from the size that
decides to the way, with no more rows than there are sizes for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from ingot.codegen.attention import FEW
from ingot.codegen.library import LARGEST, has_library
from ingot.dispatch.builtin_variants import always, up_to
from ingot.dispatch.ranges import Range, RangeTable
from ingot.dispatch.variants import Variants
from ingot.fuse import index as ix
from ingot.fuse.fit import LONG_ROW
from ingot.fuse.region import Region
from ingot.plan.attentions import Attention
from ingot.plan.derived import is_derived
from ingot.plan.products import Product
from ingot.program.program import SymbolRange
from ingot.program.shapes import Size, same_size, shape_of, tensor_of

Symbols = Mapping[str, SymbolRange]
ANY = 37
"""A size that stands for those that decide."""


def range_of(size: Size, symbols: Symbols) -> Range:
    """The values that a size may have."""
    if isinstance(size, int):
        return Range(size, size)
    ranges = {symbol: _range(symbols.get(symbol.name)) for symbol in size.free_symbols}
    found = bound_sympy(size, ranges)
    low = int(found.lower) if found.lower.is_Integer else 0
    return Range(max(low, 0), int(found.upper) if found.upper.is_Integer else None)


def _range(known: SymbolRange | None) -> ValueRanges[Any]:
    if known is None:
        return ValueRanges(0, int_oo)
    return ValueRanges(known.lower, int_oo if known.upper is None else known.upper)


def _needed(table: RangeTable, needed: Range) -> RangeTable:
    return RangeTable(tuple(row for row in table.rows if row.box[0].meets(needed)))


# -- products --------------------------------------------------------------------------------------


def product_table(ways: Variants, product: Product, symbols: Symbols) -> RangeTable:
    """By the number of rows."""
    if not takes_library(product):
        return always("packed")
    m, _, k = product.sizes
    assert isinstance(k, int)
    weight, dtype = product.weight, tensor_of(product.node).dtype
    needed = range_of(m, symbols)
    table = ways.table(
        "product",
        {"a": (dtype, (ANY, k), (k, 1)), "w": (dtype, weight.shape, weight.strides)},
        always("packed"),
        needed,
    )
    return _needed(table, needed)


def takes_library(product: Product) -> bool:
    """Can the library do it on the weight as it lies?"""
    _, n, k = product.sizes
    rows, _, _ = product.row_strides
    if not isinstance(n, int) or not isinstance(k, int) or is_derived(product.weight.root):
        return False
    outer, inner = product.weight.strides
    by_rows, by_columns = inner == 1 and outer >= n, outer == 1 and inner >= k
    return (
        has_library(tensor_of(product.node).dtype)
        and (by_rows or by_columns)
        and same_size(rows, k)
        and max(n, k, outer, inner) <= LARGEST
    )


# -- attention -------------------------------------------------------------------------------------


def attention_table(ways: Variants, call: Attention, symbols: Symbols) -> RangeTable:
    """By the number of queries."""
    _, heads, queries, width = shape_of(call.query)
    if not isinstance(heads, int) or not isinstance(width, int):
        return up_to(FEW, "few", "many")
    keys = shape_of(call.key)[2]
    long = keys if isinstance(keys, int) else 512
    dtype, needed = tensor_of(call.node).dtype, range_of(queries, symbols)
    forms = {
        name: (dtype, (1, heads, n, width), (heads * n * width, n * width, width, 1))
        for name, n in {"q": ANY, "k": long, "v": long}.items()
    }
    return _needed(ways.table("attention", forms, up_to(FEW, "few", "many"), needed), needed)


# -- reductions ------------------------------------------------------------------------------------


def reduction_table(ways: Variants, region: Region, symbols: Symbols) -> RangeTable:
    """By the length of what is summed up, for a region that may be cut."""
    rows, length = ix.product([v.size for v in region.outer()]), length_of(region)
    assert isinstance(rows, int)
    needed = range_of(length, symbols)
    forms = {"x": (_dtype(region), (rows, 1 << 14), (1 << 14, 1))}
    table = ways.table("reduction", forms, up_to(LONG_ROW - 1, "whole", "split"), needed)
    return _needed(table, needed)


def reduction_ways(ways: Variants, region: Region, symbols: Symbols) -> tuple[str, ...]:
    """The forms of its kernel that are needed, "split" first."""
    found = {row.serves for row in reduction_table(ways, region, symbols).rows}
    return tuple(sorted(found))


def length_of(region: Region) -> Size:
    return ix.product([v.size for v in region.inner()])


def _dtype(region: Region) -> torch.dtype:
    dtypes = [tensor_of(node).dtype for node, _ in region.reads]
    return max((d for d in dtypes if d.is_floating_point), key=lambda d: d.itemsize,
               default=torch.float32)  # fmt: skip
