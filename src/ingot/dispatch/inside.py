"""The compiler's own choices for symbolic sizes, through the same table as the user's. Comes in: a
program with products of two activations; goes out: dispatched operations in their place, whose
implementations are the library's call and one fused kernel. What holds: only where the number of
rows is a symbol, and only when measuring was asked for (the option `tune`); a product with a weight
stays, since that is packed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.fx import Node

from ingot.dispatch.declare import Dispatch, dispatch
from ingot.passes.base import Draft, Pass
from ingot.program.graph import memory_root, placeholders

aten = torch.ops.aten
MOST_ELEMENTS = 1 << 16
"""Of the second factor: a fused kernel reads it anew for every row."""


@dataclass(frozen=True)
class Own:
    operation: Dispatch
    rows: int
    """The dimension of the first factor that is dispatched on."""


@cache
def own_operations() -> dict[Any, Own]:
    """What stands for an operation of ATen's."""

    @dispatch(on=("a", 0), ranges="auto", span=(1, 512), budget=3.0)
    def mm(a: Tensor, b: Tensor) -> Tensor:
        return aten.mm.default(a, b)

    @mm.implementation()
    def fused(a: Tensor, b: Tensor) -> Tensor:
        return (a[:, :, None] * b[None]).sum(1)

    @dispatch(on=("a", 1), ranges="auto", span=(1, 512), budget=3.0)
    def bmm(a: Tensor, b: Tensor) -> Tensor:
        return aten.bmm.default(a, b)

    @bmm.implementation(name="fused")
    def fused_batch(a: Tensor, b: Tensor) -> Tensor:
        return (a[:, :, :, None] * b[:, None]).sum(2)

    return {aten.mm.default: Own(mm, 0), aten.bmm.default: Own(bmm, 1)}


@dataclass(frozen=True)
class Inside(Pass):
    name: ClassVar[str] = "inside"

    def rewrite(self, draft: Draft) -> list[str]:
        weights = _weights(draft)
        count = 0
        for node in list(draft.graph.nodes):
            own = own_operations().get(node.target)
            if own is None or not _is_open(node, own.rows, weights):
                continue
            draft.swap(node, draft.call(node, own.operation.target, node.args, node.meta["val"]))
            count += 1
        return [f"choices to be measured: {count}"] if count else []


def _is_open(node: Node, rows: int, weights: set[Node]) -> bool:
    """Is it a product of activations whose number of rows is a symbol?"""
    left, right = node.args
    if not isinstance(left, Node) or not isinstance(right, Node):
        return False
    a, b = left.meta["val"], right.meta["val"]
    known = [n for n in b.shape if isinstance(n, int)]
    return (
        isinstance(a.shape[rows], torch.SymInt)
        and a.dtype in (torch.float32, torch.float64)
        and len(known) == b.dim()
        and b.numel() <= MOST_ELEMENTS
        and memory_root(right) not in weights
    )


def _weights(draft: Draft) -> set[Node]:
    kinds = ("parameter", "buffer", "constant")
    pairs = zip(placeholders(draft.graph), draft.signature.inputs, strict=True)
    return {node for node, spec in pairs if spec.kind in kinds}
