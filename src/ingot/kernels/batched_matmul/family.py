"""Small matmuls of two activations."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import fx

from ingot.dispatch.threads import matmul_work
from ingot.fuse import index as ix
from ingot.kernels.batched_matmul.claim import Batch, batch_of
from ingot.kernels.batched_matmul.emit import FIELDS, batched_function, batched_share
from ingot.kernels.family import Family, Reason, fields, useful_threads
from ingot.plan.draft import PlanDraft
from ingot.plan.ir import Op
from ingot.program.shapes import tensor_of

aten = torch.ops.aten


class BatchedMatmul(Family[Batch]):
    name = "batched_matmul"
    targets = (aten.bmm.default, aten.mm.default, aten.baddbmm.default, aten.addmm.default)

    def match(self, node: fx.Node, frozen: set[fx.Node]) -> Sequence[Batch] | Reason:
        found = batch_of(node)
        return found if isinstance(found, Reason) else [found]

    def launch(self, claim: Batch, draft: PlanDraft) -> list[Op]:
        dtype = tensor_of(claim.node).dtype
        pointers = {name: ("r", dtype) for name in ("a", "b", "addend")} | {"c": ("w", dtype)}
        share = batched_share(dtype)
        kernel = draft.kernel(
            self.name, batched_function(dtype), fields(FIELDS, pointers, ("addend",)), share
        )
        addend = 0 if claim.addend is None else draft.pointer(claim.addend)
        arguments = [
            *(draft.pointer(n) for n in (claim.left, claim.right, claim.node)), addend,
            *claim.sizes(),
        ]  # fmt: skip
        work = ix.product(claim.counts())
        threads = useful_threads(work, matmul_work(draft.variants)) if share else None
        computes = draft.computes([claim.node], [claim.node])
        return [draft.launch(kernel, arguments, computes, threads=threads)]
