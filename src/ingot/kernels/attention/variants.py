"""Variants of attention: for few queries, or for many."""

from __future__ import annotations

from ingot.dispatch.builtin_variants import up_to
from ingot.dispatch.ranges import RangeTable
from ingot.dispatch.variants import Variants
from ingot.kernels.attention.claim import AttentionClaim
from ingot.kernels.attention.emit import FEW
from ingot.kernels.ranges import ANY, Symbols, needed_rows, range_of
from ingot.program.shapes import shape_of, tensor_of


def attention_table(variants: Variants, call: AttentionClaim, symbols: Symbols) -> RangeTable:
    """The variants for ranges of the number of queries."""
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
    return needed_rows(
        variants.table("attention", forms, up_to(FEW, "few", "many"), needed), needed
    )
