"""LSTM layers."""

from __future__ import annotations

from collections.abc import Sequence

from torch import fx

from ingot.kernels.family import Family, Reason, fields
from ingot.kernels.recurrent.claim import Recurrence, recurrence_of
from ingot.kernels.recurrent.emit import FIELDS, lstm_function
from ingot.kernels.recurrent.packing import Gates
from ingot.passes.recur import LAYER
from ingot.plan.draft import PlanDraft
from ingot.plan.ir import Op
from ingot.program.native_ops import lstm
from ingot.program.shapes import tensor_of


class Lstm(Family[Recurrence]):
    name = "recurrent"
    targets = (lstm, LAYER)

    def match(self, node: fx.Node, frozen: set[fx.Node]) -> Sequence[Recurrence] | Reason:
        found = recurrence_of(node, frozen)
        return found if isinstance(found, Reason) else [found]

    def launch(self, claim: Recurrence, draft: PlanDraft) -> list[Op]:
        dtype = tensor_of(claim.node).dtype
        names = ("gates", "weight", "hidden", "cell")
        pointers = {name: ("r", dtype) for name in names} | {"out": ("w", dtype)}
        kernel = draft.kernel("lstm", lstm_function(dtype), fields(FIELDS, pointers))
        arguments = [
            draft.pointer(claim.gates), draft.packed(Gates(dtype), claim.weight),
            *(draft.pointer(n) for n in (claim.hidden, claim.cell, claim.node)), *claim.sizes(),
        ]  # fmt: skip
        return [draft.launch(kernel, arguments, draft.computes([claim.node], [claim.node]))]
