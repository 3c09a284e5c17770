"""Matmuls of two activations in a plan: calls of bmm or baddbmm, or of mm or addmm whose second
operand is not a weight. The first operand, the addend and the result are row-major. Other calls are
refused with a reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import fx

from ingot.kernels.family import Claim, Pair, Reason, broadcast, why_not_operands
from ingot.kernels.matmul.claim import SCALED
from ingot.program.shapes import Size, arguments_of, shape_of, strides_of

aten = torch.ops.aten
LARGE = 1 << 24
"""Multiplications in total above which a BLAS call, which packs both operands, pays."""


@dataclass(frozen=True)
class Batch(Claim):
    """c[i] = addend[i] + left[i] · right[i]"""

    left: fx.Node
    right: fx.Node
    addend: fx.Node | None

    def equal_sizes(self) -> Iterator[Pair]:
        matrices, m, n, k = self.counts()
        full = (matrices, m, n)
        yield from broadcast(shape_of(self.right), (matrices, k, n))
        yield from broadcast(shape_of(self.node), full)
        if self.addend is not None:
            yield from broadcast(shape_of(self.addend), full)

    def reads(self) -> list[fx.Node]:
        more = [] if self.addend is None else [self.addend]
        return [self.left, self.right, *more]

    def counts(self) -> tuple[Size, Size, Size, Size]:
        """(matrices, m, n, k)"""
        *batch, m, k = shape_of(self.left)
        return (batch[0] if batch else 1), m, shape_of(self.node)[-1], k

    def sizes(self) -> list[Size]:
        """The arguments after the pointers."""
        a, b, c = (_steps(n) for n in (self.left, self.right, self.node))
        added = [0, 0] if self.addend is None else _steps(self.addend)[:2]
        return [*self.counts(), *a[:2], *b, *c[:2], *added]


def _steps(node: fx.Node) -> list[Size]:
    """Strides of matrices, rows and columns; 0 along broadcast dimensions."""
    sizes = zip(shape_of(node), strides_of(node), strict=True)
    steps = [0 if size == 1 else step for size, step in sizes]
    return [0] * (3 - len(steps)) + steps


def batch_of(node: fx.Node) -> Batch | Reason:
    call = _call(node)
    if call is None:
        return Reason(SCALED)
    refusal = why_not_operands(node, *call.reads()) or _why_not_sizes(call)
    return call if refusal is None else Reason(refusal)


def _why_not_sizes(call: Batch) -> str | None:
    counts = call.counts()
    matrices, m, n, k = counts
    if not all(isinstance(size, int) for size in counts):
        return "a size is symbolic"
    if 0 in counts:
        return "an operand is empty"
    if not _lies_by_rows(call.left, k):
        return "the rows of the first operand are not contiguous"
    if not all(_lies_by_rows(node, n) for node in (call.node, call.addend)):
        return "the rows of the result or the addend are not contiguous"
    if matrices * m * n * k > LARGE:
        return f"more than {LARGE} multiplications: BLAS is faster"
    return None


def _call(node: fx.Node) -> Batch | None:
    """The call by names; None if it scales an operand."""
    if node.target in (aten.bmm.default, aten.mm.default):
        left, right = arguments_of(node).values()
        return Batch(node, left, right, None)
    addend, left, right, beta, alpha = arguments_of(node).values()
    return Batch(node, left, right, addend) if beta == 1 and alpha == 1 else None


def _lies_by_rows(node: fx.Node | None, columns: Size) -> bool:
    """Whether rows are complete and contiguous."""
    if node is None or columns == 1:
        return True
    return shape_of(node)[-1:] == (columns,) and strides_of(node)[-1] == 1
