"""Variants of a reduction: with or without splitting its rows into chunks for the threads."""

from __future__ import annotations

import torch

from ingot.dispatch.builtin_variants import up_to
from ingot.dispatch.ranges import RangeTable
from ingot.dispatch.variants import Variants
from ingot.fuse import index as ix
from ingot.fuse.fit import LONG_ROW
from ingot.fuse.region import Region
from ingot.kernels.ranges import Symbols, needed_rows, range_of
from ingot.program.shapes import Size, tensor_of


def reduction_table(variants: Variants, region: Region, symbols: Symbols) -> RangeTable:
    """Variants by reduced length, for a region that may be split."""
    rows, length = ix.product([v.size for v in region.outer()]), length_of(region)
    assert isinstance(rows, int)
    needed = range_of(length, symbols)
    forms = {"x": (_dtype(region), (rows, 1 << 14), (1 << 14, 1))}
    table = variants.table("reduction", forms, up_to(LONG_ROW - 1, "whole", "split"), needed)
    return needed_rows(table, needed)


def reduction_variants(variants: Variants, region: Region, symbols: Symbols) -> tuple[str, ...]:
    """The variants of its kernel that are needed, "split" first."""
    found = {row.serves for row in reduction_table(variants, region, symbols).rows}
    return tuple(sorted(found))


def length_of(region: Region) -> Size:
    return ix.product([v.size for v in region.inner()])


def _dtype(region: Region) -> torch.dtype:
    dtypes = [tensor_of(node).dtype for node, _ in region.reads]
    return max((d for d in dtypes if d.is_floating_point), key=lambda d: d.itemsize,
               default=torch.float32)  # fmt: skip
