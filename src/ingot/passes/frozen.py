"""Frozen values depend only on parameters, buffers and constants that the program does not write. A
value marked as frozen is computed once and kept until a weight changes, not recomputed in each
call.
"""

from __future__ import annotations

import torch
from torch.fx import Graph, Node

from ingot.passes.base import ProgramDraft
from ingot.program.annotations import FROZEN
from ingot.program.graph import placeholders
from ingot.program.spec import is_pure


def frozen_values(draft: ProgramDraft) -> set[Node]:
    inputs = placeholders(draft.graph)
    stay = {
        node
        for node, spec in zip(inputs, draft.signature.inputs, strict=True)
        if spec.kind in ("parameter", "buffer", "constant") and node not in draft.overwritten
    }
    return computed_from(stay, draft.graph)


def computed_from(frozen: set[Node], graph: Graph) -> set[Node]:
    """Frozen inputs, constants, and all values that are computed from nothing else."""
    found = set(frozen)
    for node in graph.nodes:
        if node.op == "get_attr" or (
            node.op == "call_function"
            and node.all_input_nodes
            and all(source in found for source in node.all_input_nodes)
            and isinstance(node.meta.get("val"), torch.Tensor)
            and is_pure(node)
        ):
            found.add(node)
    return found


def freeze(node: Node) -> None:
    """Mark the value and everything it is computed from as frozen."""
    if node.op != "call_function" or node.meta.get(FROZEN):
        return
    node.meta[FROZEN] = True
    for source in node.all_input_nodes:
        freeze(source)
