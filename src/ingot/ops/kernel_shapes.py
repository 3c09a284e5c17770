"""Shapes that the native kernels of matmuls, attention and LSTMs accept: register tiles, head
widths, padded gates. Passes consult them before they assign an op to a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ingot.machine import this_machine

DTYPES = (torch.float32, torch.float64)
GATES = 4
"""Of an LSTM cell."""
ATTENTION_WORK = 1 << 16
"""Multiplications that are worth waking a thread for, if nothing was measured."""


@dataclass(frozen=True)
class Shape:
    """A register tile of C: `rows` by `vectors` of `lanes`."""

    dtype: torch.dtype
    rows: int
    vectors: int
    lanes: int
    stored: torch.dtype
    """The dtype of B in memory: a half-precision type for f32; int8, where each panel begins with
    the scales of its columns."""

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes

    @property
    def scaled(self) -> bool:
        return self.stored is torch.int8

    @property
    def head(self) -> int:
        """Size of the scales in front of a panel, in elements of B."""
        return self.columns * self.dtype.itemsize // self.stored.itemsize if self.scaled else 0


ROWS = {512: {1: 12, 2: 12, 4: 6}, 256: {1: 6, 2: 6}, 128: {1: 6, 2: 6}}
"""Of a tile, by vector bits and number of vectors: as many accumulators as leave registers for a
row of B and an element of A."""


def tile_shape(dtype: torch.dtype, vectors: int = 2, stored: torch.dtype | None = None) -> Shape:
    bits = this_machine().vector_bits
    return Shape(dtype, ROWS[bits][vectors], vectors, bits // 8 // dtype.itemsize, stored or dtype)


def matmul_shape(dtype: torch.dtype, stored: torch.dtype | None = None) -> Shape:
    """The widest tile: it has few rows of A, which may evict each other from the L1 cache (elements
    some 4 KB apart compete for the 8 ways of one set)."""
    return tile_shape(dtype, max(ROWS[this_machine().vector_bits]), stored)


def dividing_shape(dtype: torch.dtype, columns: int) -> Shape | None:
    """The widest tile whose width divides `columns`, or None."""
    shapes = (tile_shape(dtype, n) for n in sorted(ROWS[this_machine().vector_bits], reverse=True))
    return next((shape for shape in shapes if columns % shape.columns == 0), None)


def why_not_dtype(dtype: torch.dtype) -> str | None:
    """The reason against a dtype that the kernels of matmuls, convolutions, attention and LSTMs do
    not compute in."""
    if dtype in DTYPES:
        return None
    return f"no kernel for {_name(dtype)}, only for {' and '.join(map(_name, DTYPES))}"


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def attends(dtype: torch.dtype, width: object) -> bool:
    """Is there a native attention kernel for heads of this width?"""
    return (
        dtype in DTYPES
        and isinstance(width, int)
        and width > 0
        and width <= 512
        and dividing_shape(dtype, width) is not None
    )


def padded_units(units: int, dtype: torch.dtype) -> int:
    """Units of one gate, padded to whole panels."""
    width = matmul_shape(dtype).columns
    return -(-units // width) * width
