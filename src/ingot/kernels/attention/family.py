"""Attention in blocks of queries and keys; for few queries the keys are read in place."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import fx

from ingot.dispatch.threads import attention_work
from ingot.kernels.attention.claim import AttentionClaim, attention_of
from ingot.kernels.attention.emit import FIELDS, attention_function
from ingot.kernels.attention.variants import attention_table
from ingot.kernels.choose_variants import choose_variants
from ingot.kernels.family import Family, Reason, fields
from ingot.passes.attention import FLASH
from ingot.plan.draft import PlanDraft
from ingot.plan.ir import Launch, Op
from ingot.program.native_ops import attention
from ingot.program.shapes import shape_of, tensor_of

aten = torch.ops.aten


class AttentionFamily(Family[AttentionClaim]):
    name = "attention"
    targets = (attention, FLASH)

    def match(self, node: fx.Node, frozen: set[fx.Node]) -> Sequence[AttentionClaim] | Reason:
        found = attention_of(node)
        return found if isinstance(found, Reason) else [found]

    def launch(self, claim: AttentionClaim, draft: PlanDraft) -> list[Op]:
        table = attention_table(draft.variants, claim, draft.ranges)
        makers = {
            "few": lambda: [_launch(claim, draft, True)],
            "many": lambda: [_launch(claim, draft, False)],
        }
        name, queries = f"{claim.node.name} (attention)", shape_of(claim.query)[2]
        return choose_variants(name, draft.decisions, table, queries, makers)

    early = (
        F.scaled_dot_product_attention, aten.scaled_dot_product_attention.default, FLASH,
    )  # fmt: skip

    def precompile(self, node: fx.Node, dtype: torch.dtype) -> None:
        from ingot.kernels.attention import emit as attention
        from ingot.kernels.matmul import emit as matmul

        matmul.begin(dtype)
        attention.begin(dtype)


def _launch(claim: AttentionClaim, draft: PlanDraft, few: bool) -> Launch:
    dtype = tensor_of(claim.node).dtype
    width = shape_of(claim.query)[3]
    assert isinstance(width, int)
    pointers = {name: ("r", dtype) for name in ("q", "k", "v", "mask")} | {"out": ("w", dtype)}
    function = attention_function(dtype, width)
    kernel = draft.kernel("attention", function, fields(FIELDS, pointers, ("mask",)))
    arguments = [
        *(draft.pointer(n) for n in (claim.query, claim.key, claim.value)),
        0 if claim.mask is None else draft.pointer(claim.mask), draft.pointer(claim.node),
        *claim.sizes(few, attention_work(draft.variants)),
    ]  # fmt: skip
    return draft.launch(kernel, arguments, draft.computes([claim.node], [claim.node]))
