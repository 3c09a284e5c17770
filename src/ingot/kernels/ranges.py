"""Ranges of dynamic sizes, and the rows of a table that they need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from ingot.dispatch.ranges import Range, RangeTable
from ingot.program.program import SymbolRange
from ingot.program.shapes import Size

Symbols = Mapping[str, SymbolRange]
ANY = 37
"""Placeholder for the sizes that decide."""


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


def needed_rows(table: RangeTable, needed: Range) -> RangeTable:
    return RangeTable(tuple(row for row in table.rows if row.box[0].meets(needed)))
