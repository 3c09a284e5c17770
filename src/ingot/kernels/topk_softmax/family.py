"""The top-k softmax of mixture-of-experts routers: the experts of each token, with weights."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import fx

from ingot.kernels.family import Family, Reason, fields
from ingot.kernels.topk_softmax.claim import Routing, routing
from ingot.kernels.topk_softmax.emit import FIELDS, routing_function
from ingot.kernels.topk_softmax.fuse_topk_softmax import FuseTopkSoftmax, fusion_of
from ingot.kernels.topk_softmax.op import topk_softmax
from ingot.passes.base import Pass
from ingot.plan.draft import PlanDraft
from ingot.plan.ir import Op
from ingot.program.program import Program
from ingot.program.shapes import tensor_of

topk = torch.ops.aten.topk.default


class TopkSoftmax(Family[Routing]):
    name = "topk_softmax"
    targets = (topk_softmax, topk)

    def passes(self, program: Program) -> Sequence[Pass]:
        return [FuseTopkSoftmax()] if any(n.target is topk for n in program.graph.nodes) else []

    def match(self, node: fx.Node, frozen: set[fx.Node]) -> Sequence[Routing] | Reason:
        if node.target is topk:  # the pass left it
            reason = fusion_of(node)
            return Reason(reason) if isinstance(reason, str) else []
        found = routing(node)
        return found if isinstance(found, Reason) else [found]

    def launch(self, claim: Routing, draft: PlanDraft) -> list[Op]:
        dtype = tensor_of(claim.scores).dtype
        access = {
            "scores": ("r", dtype), "weights": ("w", dtype), "indices": ("w", torch.int64),
        }  # fmt: skip
        kernel = draft.kernel(self.name, routing_function(claim.form), fields(FIELDS, access))
        results = claim.results()
        pointers = [draft.pointer(node) for node in (claim.scores, *results)]
        computes = draft.computes(results, [claim.node, *results])
        return [draft.launch(kernel, [*pointers, *claim.sizes()], computes)]
