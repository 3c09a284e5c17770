"""Variants of a matmul: ingot's kernel on packed panels, or BLAS on the weight in place."""

from __future__ import annotations

from ingot.dispatch.builtin_variants import always
from ingot.dispatch.ranges import RangeTable
from ingot.dispatch.variants import Variants
from ingot.kernels.choose_variants import NOT_IN_PLACE
from ingot.kernels.matmul.blas import LARGEST, has_library
from ingot.kernels.matmul.claim import Matmul
from ingot.kernels.ranges import ANY, Symbols, needed_rows, range_of
from ingot.plan.derived import is_derived
from ingot.program.shapes import same_size, tensor_of


def matmul_table(variants: Variants, matmul: Matmul, symbols: Symbols) -> RangeTable:
    """The variants for ranges of the number of rows."""
    if not takes_library(matmul):
        return always("packed", NOT_IN_PLACE)
    m, _, k = matmul.sizes
    assert isinstance(k, int)
    weight, dtype = matmul.weight, tensor_of(matmul.node).dtype
    needed = range_of(m, symbols)
    table = variants.table(
        "matmul",
        {"a": (dtype, (ANY, k), (k, 1)), "w": (dtype, weight.shape, weight.strides)},
        always("packed"),
        needed,
    )
    return needed_rows(table, needed)


def takes_library(matmul: Matmul) -> bool:
    """Whether BLAS can compute it on the weight in place."""
    _, n, k = matmul.sizes
    rows, _, _ = matmul.row_strides
    if not isinstance(n, int) or not isinstance(k, int) or is_derived(matmul.weight.root):
        return False
    outer, inner = matmul.weight.strides
    by_rows, by_columns = inner == 1 and outer >= n, outer == 1 and inner >= k
    return (
        has_library(tensor_of(matmul.node).dtype)
        and (by_rows or by_columns)
        and same_size(rows, k)
        and max(n, k, outer, inner) <= LARGEST
    )
