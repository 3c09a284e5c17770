"""Writes a matmul's pointwise epilogue as a function that the matmul calls for each part of its
result while that part is in the L1 cache. Its arguments are the region's frame, the first and last
row, the first and last column. The region's loops are the rows and columns of the matmul's result,
and every store is contiguous along the columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import sympy
import torch
from torch import fx

from ingot.codegen.loops.entry import Frame, body_text
from ingot.codegen.loops.rows import RowWriter
from ingot.errors import UnsupportedError
from ingot.fuse.expr import Guarded, Load
from ingot.fuse.index import Index, Var
from ingot.fuse.loops import Nest, merged_pair, plain_nest
from ingot.fuse.region import Region
from ingot.ops.values import Ptr, Val
from ingot.program.shapes import Size, same_size, tensor_of

EDGES = ("top", "bottom", "left", "right")


@dataclass(frozen=True)
class EpilogueNest:
    matmul: fx.Node
    nest: Nest
    lanes: int


def epilogue_nest(region: Region, matmul: fx.Node, sizes: tuple[Size, Size], step: Size) -> Nest:
    """The region as two loops, over the rows and columns of the matmul's result; consecutive rows
    are `step` elements apart."""
    nest = plain_nest(region)
    at = _read_at(nest, matmul)
    column = next((v for v, c in at.terms.items() if c == 1 and isinstance(v, Var)), None)
    if column is None or not same_size(column.size, sizes[1]):
        raise UnsupportedError("does not iterate along the matmul's columns")
    row, nest = _rows(nest, at, column, sizes[0], step)
    nest = replace(nest, outer=(row, column), vector=column)
    if not all(access.coefficient(column) in (0, 1) for access in nest.accesses()):
        raise UnsupportedError("reads across the matmul's columns")
    if not all(store.index.coefficient(column) == 1 for store in nest.stores):
        raise UnsupportedError("stores across the matmul's columns")
    return nest


def _read_at(nest: Nest, matmul: fx.Node) -> Index:
    """The one element of the matmul that an iteration reads."""
    exprs = nest.expressions()
    found = {e.index for e in exprs if isinstance(e, Load) and e.buffer is matmul}
    if nest.inner or any(isinstance(e, Guarded) for e in exprs) or len(found) != 1:
        raise UnsupportedError("reads more than one element of the matmul")
    (at,) = found
    loops = set(nest.outer) if nest.vector is None else at.variables()
    if at.const != 0 or at.variables() != loops or set(at.terms) != at.variables():
        raise UnsupportedError("indexes the matmul in another order")
    return at


def _rows(nest: Nest, at: Index, column: Var, count: Size, step: Size) -> tuple[Var, Nest]:
    """Merges all loops but `column` into one over the rows."""
    loops = [v for v in nest.outer if v is not column]
    stride = step
    while loops:
        inner = next((v for v in loops if same_size(at.terms[v], stride)), None)
        if inner is None:
            raise UnsupportedError("indexes the matmul's rows in another order")
        loops.remove(inner)
        stride = stride * inner.size
        nest = replace(nest, outer=(inner, *(v for v in nest.outer if v is not inner)))
    if not same_size(stride, step * count):
        raise UnsupportedError("does not cover all of the matmul's rows")
    while len(nest.outer) > 2:
        first, second = [v for v in nest.outer if v is not column][:2]
        merged = merged_pair(nest, first, second, always=True)
        assert merged is not None
        nest = merged
    rows = [v for v in nest.outer if v is not column]
    return (rows[0] if rows else Var("row", 1)), nest


def write_epilogue(
    epilogue: EpilogueNest, buffers: Mapping[fx.Node, Ptr], symbols: dict[sympy.Symbol, Val]
) -> tuple[str, dict[str, str]]:
    """(the function as @NAME, its declarations)"""
    nest = epilogue.nest
    writer = RowWriter(nest, epilogue.lanes, dict(buffers), symbols)
    top, bottom, left, right = (Val(f"%{name}", torch.int64) for name in EDGES)
    row, column = nest.outer
    roots = [store.value for store in nest.stores]

    def along() -> None:
        writer.over(column, roots, writer.row, left, right)

    writer.over(row, roots, along, top, bottom)
    if writer.failed:
        raise UnsupportedError("can fail")
    frame = Frame(list(buffers.values()), symbols)
    edges = [top, bottom, left, right]
    return body_text("NAME", edges, frame, writer, False), writer.b.declarations


def same_memory(nest: Nest, matmul: fx.Node) -> fx.Node | None:
    """The buffer of a stored value with the layout and dtype of the matmul's result."""
    at, dtype = _read_at(nest, matmul), tensor_of(matmul).dtype
    alike = (s.buffer for s in nest.stores if s.index == at and s.value.dtype is dtype)
    return next(alike, None)


def row_step(nest: Nest, buffer: fx.Node) -> Size | None:
    """The row stride of a buffer if each iteration touches only the element in its own row and
    column, otherwise None."""
    row, column = nest.outer
    loads = (e for e in nest.expressions() if isinstance(e, Load))
    found = {load.index for load in loads if load.buffer is buffer}
    found |= {store.index for store in nest.stores if store.buffer is buffer}
    if len(found) != 1:
        return None
    (at,) = found
    own = at.const == 0 and at.coefficient(column) == 1 and at.terms.keys() <= {row, column}
    return at.coefficient(row) if own else None
