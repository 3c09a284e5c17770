"""Matmuls of two activations with a symbolic number of rows: a library call, or one kernel fused
with the surrounding ops. The pass replaces such a matmul by a dispatched op if it is known which is
faster, measured like the other built-in variants. A matmul with a weight stays: it has a choice of
its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.fx import Node

from ingot.codegen.jit.lazy import Once
from ingot.dispatch.declare import Dispatch, dispatch
from ingot.dispatch.trace import call_of
from ingot.dispatch.variants import Variants
from ingot.passes.base import Pass, ProgramDraft
from ingot.program.graph import memory_root, placeholders
from ingot.program.program import Program

aten = torch.ops.aten
BOUNDS = [1, 4, 16, 64, 256]
"""Upper bounds of the measured ranges."""
MOST_ELEMENTS = 1 << 16
"""Of the second operand: a fused kernel reads it again for every row."""


PRODUCTS = {aten.mm.default: 0, aten.bmm.default: 1}
"""Matmuls, with the dimension of the first operand that counts the rows."""


@Once
def own_operations() -> dict[Any, Dispatch]:
    """The dispatched op for each ATen op."""

    @dispatch(on=("a", 0), ranges=BOUNDS, budget=0)
    def mm(a: Tensor, b: Tensor) -> Tensor:
        return aten.mm.default(a, b)

    @mm.implementation()
    def fused(a: Tensor, b: Tensor) -> Tensor:
        return (a[:, :, None] * b[None]).sum(1)

    @dispatch(on=("a", 1), ranges=BOUNDS, budget=0)
    def bmm(a: Tensor, b: Tensor) -> Tensor:
        return aten.bmm.default(a, b)

    @bmm.implementation(name="fused")
    def fused_batch(a: Tensor, b: Tensor) -> Tensor:
        return (a[:, :, :, None] * b[:, None]).sum(2)

    return {aten.mm.default: mm, aten.bmm.default: bmm}


@dataclass(frozen=True)
class DispatchMatmul(Pass):
    name: ClassVar[str] = "dispatch_matmul"
    variants: Variants

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        weights = _weights(draft)
        count = 0
        for node in list(draft.graph.nodes):
            if node.target not in PRODUCTS or not _is_open(node, PRODUCTS[node.target], weights):
                continue
            operation = own_operations()[node.target]
            record = self.variants.record(operation, partial(_arguments, operation, node))
            if record is None or not record.table.rows:
                continue
            draft.swap(node, draft.call(node, operation.target, node.args, node.meta["val"]))
            count += 1
        return [f"matmuls that were measured: {count}"] if count else []


def has_symbolic_matmuls(program: Program) -> bool:
    """May the pass find anything to do?"""
    return bool(program.symbols) and any(n.target in PRODUCTS for n in program.graph.nodes)


def _arguments(operation: Dispatch, node: Node) -> Mapping[str, Any]:
    return call_of(operation, node).bound


def _is_open(node: Node, rows: int, weights: set[Node]) -> bool:
    """Is it a matmul of activations with a symbolic number of rows and a small second operand?"""
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


def _weights(draft: ProgramDraft) -> set[Node]:
    kinds = ("parameter", "buffer", "constant")
    pairs = zip(placeholders(draft.graph), draft.signature.inputs, strict=True)
    return {node for node, spec in pairs if spec.kind in kinds}
