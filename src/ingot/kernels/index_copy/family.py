"""Slices copied to indexed positions, such as new keys and values into a cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import fx

from ingot.kernels.family import Family, Reason, fields
from ingot.kernels.index_copy.claim import IndexCopy, index_copy_of
from ingot.kernels.index_copy.emit import FIELDS, index_copy_function
from ingot.plan.draft import PlanDraft
from ingot.plan.ir import Argument, Call, Computation, Launch, Op, Pointer, Ref
from ingot.program.shapes import Size, tensor_of


class IndexCopyFamily(Family[IndexCopy]):
    name = "index_copy"
    targets = (torch.ops.aten.index_copy.default,)

    def match(self, node: fx.Node, frozen: set[fx.Node]) -> Sequence[IndexCopy] | Reason:
        found = index_copy_of(node)
        return found if isinstance(found, Reason) else [found]

    def launch(self, claim: IndexCopy, draft: PlanDraft) -> list[Op]:
        """A copy of `given`, unless its memory is the result's, then the slices."""
        target = draft.pointer(claim.node)
        whole = draft.computes([claim.node], [claim.node])
        ops: list[Op] = []
        given = draft.pointer(claim.given)
        if given != target:
            copied = _copy(draft, claim)
            sizes = claim.copy_sizes()
            ops.append(_launch(draft, claim, [target, given, 0], sizes, copied))
            whole = _on_copy(draft, claim, whole)
        words = [target, draft.pointer(claim.source), draft.pointer(claim.index)]
        ops.append(_launch(draft, claim, words, claim.sizes(), whole))
        return ops


def _copy(draft: PlanDraft, claim: IndexCopy) -> Computation:
    given, made = draft.operand(claim.given), draft.operand(claim.node)
    assert given is not None and made is not None
    clone = draft.resources.target_name(torch.ops.aten.clone.default)
    return Computation((("v0", given),), (Call("v1", clone, (Ref("v0"),)),), (("v1", made),))


def _on_copy(draft: PlanDraft, claim: IndexCopy, whole: Computation) -> Computation:
    """The same computation, reading `given` from the result's memory."""
    given, made = draft.operand(claim.given), draft.operand(claim.node)
    assert made is not None
    inputs = tuple((name, made if each == given else each) for name, each in whole.inputs)
    return replace(whole, inputs=inputs)


def _launch(
    draft: PlanDraft,
    claim: IndexCopy,
    pointers: Sequence[Pointer | int],
    sizes: Sequence[Size],
    computes: Computation,
) -> Launch:
    dtype = tensor_of(claim.node).dtype
    access = {"target": ("rw", dtype), "source": ("r", dtype), "index": ("r", torch.int64)}
    kernel = draft.kernel(
        "index_copy", index_copy_function(dtype.itemsize), fields(FIELDS, access, ("index",))
    )
    arguments: list[Argument] = [*pointers, *sizes]
    return draft.launch(kernel, arguments, computes, faults=draft.lookups(claim.node))
