"""Matmul tiles, C = A · B + addend, in f32 and f64. A tile multiplies some rows of A by a panel of
B (ops/panels.py), stored in the compute dtype, in half precision, or as 8-bit integers with a scale
per column. The accumulators of a tile fill the registers. Sizes are arguments, so one function
serves all.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ingot.codegen.jit.jit import FUNCTION_ATTRIBUTES, compile_module
from ingot.codegen.jit.lazy import OnceStored
from ingot.codegen.jit.native import Native
from ingot.codegen.mlir.functions import I64, Writer
from ingot.codegen.mlir.memory import types_of
from ingot.ops.kernel_shapes import Shape, matmul_shape
from ingot.ops.values import Ptr, Val, Value

DEPTH = 256
"""Terms of a sum in one accumulator."""
CHAINS = 8
"""Independent sums that keep the multipliers busy."""
WORK_PER_THREAD = 1 << 17
"""Multiplications that are worth waking a thread for if nothing was measured."""


@OnceStored
def _tiles(shape: Shape) -> Native:
    """Tiles of this shape and of all smaller heights."""
    return compile_module(
        [], {f"tile{rows}": _tile(shape, rows) for rows in range(1, shape.rows + 1)}
    )


def begin_tiles(dtype: torch.dtype) -> None:
    """Starts compiling the matmul tiles of this dtype ahead of time."""
    _tiles.begin(matmul_shape(dtype))


def call_tile(w: Writer, shape: Shape, rows: Val, *values: Value) -> None:
    """Calls the tile of height `rows`; `values` are its arguments."""
    tiles = _tiles(shape)
    found = [_tile_pointer(w, tiles, shape, height) for height in range(1, shape.rows + 1)]
    pointer = found[-1]
    for height, lower in enumerate(found[:-1], 1):
        pointer = w.either(w.b.cmp("eq", rows, w.const(height)), lower, pointer)
    w.b.invoke(pointer, values)


def _tile_pointer(w: Writer, tiles: Native, shape: Shape, rows: int) -> Ptr:
    type_ = f"{types_of(_tile_arguments(shape))} -> ()"
    symbol, declaration = tiles.declaration(f"tile{rows}", type_)
    w.b.declarations[symbol] = declaration
    return w.b.address_of(symbol)


_A, _B, _C, _ADDEND, _SCALE = (Ptr(f"%{name}") for name in ("a", "b", "c", "addend", "scale"))
_LDA, _LDB, _LDC, _LDADD, _K = (
    Val(f"%{name}", I64) for name in ("lda", "ldb", "ldc", "ldadd", "k")
)


def _tile_arguments(shape: Shape) -> list[Value]:
    arguments: list[Value] = [_A, _LDA, _B, _LDB, _ADDEND, _LDADD, _C, _LDC, _K]
    return [*arguments, _SCALE] if shape.scaled else arguments


def _tile(shape: Shape, rows: int) -> str:
    """c[rows, columns] = addend + a[rows, k] · b[k, columns] · scale[columns]"""
    w = Writer()
    b, dtype = w.b, shape.dtype
    starts = [_A]
    for _ in range(1, rows):
        starts.append(w.moved(starts[-1], _LDA, dtype))
    width = rows * shape.vectors
    several = max(1, CHAINS // width)
    """Steps with separate accumulators: with few sums, each would wait for the previous one."""

    def vector(row: Ptr, number: int, kind: torch.dtype) -> Val:
        return b.load(w.moved(row, w.const(number * shape.lanes), kind), kind, shape.lanes)

    def step(at: Val, sums: Sequence[Val]) -> list[Val]:
        panel = w.moved(_B, b.mul(at, _LDB), shape.stored)
        right = [b.cast(vector(panel, j, shape.stored), dtype) for j in range(shape.vectors)]
        result = []
        for i, start in enumerate(starts):
            left = b.broadcast(b.load(w.moved(start, at, dtype), dtype, 1), shape.lanes)
            result += [b.fma(left, r, sums[i * shape.vectors + j]) for j, r in enumerate(right)]
        return result

    def steps(at: Val, sums: Sequence[Val]) -> list[Val]:
        groups = [sums[k * width : (k + 1) * width] for k in range(several)]
        return [s for k, group in enumerate(groups) for s in step(b.add(at, w.const(k)), group)]

    zero, k = w.const(0), _K
    sums = [b.const(0, dtype, shape.lanes)] * (several * width)
    whole = b.mul(b.div(k, w.const(several)), w.const(several)) if several > 1 else k
    sums = w.summed((zero, whole, w.const(several)), sums, steps)
    if several > 1:
        for group in range(1, several):
            both = zip(sums[:width], sums[group * width : (group + 1) * width], strict=True)
            sums[:width] = [b.add(x, y) for x, y in both]
        sums = w.summed((whole, k, w.const(1)), sums[:width], step)
    addend, c = _ADDEND, _C
    for i in range(rows):
        if i:
            addend = w.moved(addend, _LDADD, dtype)
            c = w.moved(c, _LDC, dtype)
        for j in range(shape.vectors):
            total, more = sums[i * shape.vectors + j], vector(addend, j, dtype)
            if shape.scaled:
                total = b.fma(total, vector(_SCALE, j, dtype), more)
            else:
                total = b.add(total, more)
            b.store(w.moved(c, w.const(j * shape.lanes), dtype), total)
    attributes = FUNCTION_ATTRIBUTES.replace("[[", '["noinline", [')
    return w.function(f"tile{rows}", _tile_arguments(shape), attributes=attributes)
