"""Products of two new values in a plan. Comes in: a call of bmm, or of mm whose second factor is no
weight; goes out: what the function needs, word by word; none where PyTorch does it. What holds: the
first factor and the result lie by rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import fx

from ingot.fuse.index import Size
from ingot.fuse.shapes import shape_of, strides_of, tensor_of

aten = torch.ops.aten
LARGE = 1 << 24
"""Multiplications in all above which a call of the library, which packs both factors, pays."""


@dataclass(frozen=True)
class Batch:
    """c[i] = left[i] · right[i]"""

    node: fx.Node
    left: fx.Node
    right: fx.Node

    def reads(self) -> list[fx.Node]:
        return [self.left, self.right]

    def counts(self) -> tuple[Size, Size, Size, Size]:
        """(matrices, m, n, k)"""
        *batch, m, k = shape_of(self.left)
        return (batch[0] if batch else 1), m, shape_of(self.node)[-1], k

    def sizes(self) -> list[Size]:
        """The words behind the addresses."""
        a, b, c = (_steps(n) for n in (self.left, self.right, self.node))
        return [*self.counts(), *a[:2], *b, *c[:2]]


def _steps(node: fx.Node) -> list[Size]:
    """From matrix to matrix, row to row, column to column."""
    strides = list(strides_of(node))
    return strides if len(strides) == 3 else [0, *strides]


def batches_of(node: fx.Node) -> list[Batch]:
    if node.target not in (aten.bmm.default, aten.mm.default):
        return []
    call = Batch(node, *node.args)  # type: ignore[arg-type]
    values = [tensor_of(n) for n in (node, *call.reads())]
    plain = all(
        v.dtype is values[0].dtype and v.dtype in (torch.float32, torch.float64) and not v.is_neg()
        for v in values
    )
    counts = call.counts()
    if not plain or not all(isinstance(n, int) and n > 0 for n in counts):
        return []
    by_rows = all(strides_of(n)[-1] == 1 or shape_of(n)[-1] == 1 for n in (node, call.left))
    matrices, m, n, k = counts
    return [call] if by_rows and matrices * m * n * k <= LARGE else []
