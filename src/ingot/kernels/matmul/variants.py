"""Variants of a product: our code on packed panels, or the library on the weight as it lies."""

from __future__ import annotations

from ingot.dispatch.builtin_variants import always
from ingot.dispatch.ranges import RangeTable
from ingot.dispatch.variants import Variants
from ingot.kernels.matmul.blas import LARGEST, has_library
from ingot.kernels.matmul.claim import Product
from ingot.kernels.ranges import ANY, Symbols, needed_rows, range_of
from ingot.plan.derived import is_derived
from ingot.program.shapes import same_size, tensor_of


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
    return needed_rows(table, needed)


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
