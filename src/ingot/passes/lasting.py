"""Values that are made of weights alone. Comes in: a draft; goes out: which of its values depend on
nothing but parameters, buffers and constants that the program does not write. What is marked as
prepared is made once and kept until a weight changes (plan/prepared.py), not in each call.
"""

from __future__ import annotations

import torch
from torch.fx import Node

from ingot.passes.base import Draft
from ingot.program.graph import placeholders
from ingot.program.spec import is_pure

PREPARED = "ingot_prepared"
"""In a node's meta: it is made of weights, once."""


def lasting_values(draft: Draft) -> set[Node]:
    found: set[Node] = set()
    inputs = placeholders(draft.graph)
    for node, spec in zip(inputs, draft.signature.inputs, strict=True):
        if spec.kind in ("parameter", "buffer", "constant") and node not in draft.overwritten:
            found.add(node)
    for node in draft.graph.nodes:
        if node.op == "get_attr" or (
            node.op == "call_function"
            and node.all_input_nodes
            and all(source in found for source in node.all_input_nodes)
            and isinstance(node.meta.get("val"), torch.Tensor)
            and is_pure(node)
        ):
            found.add(node)
    return found


def prepare(node: Node) -> None:
    """Mark the value and what it is made of."""
    if node.op != "call_function" or node.meta.get(PREPARED):
        return
    node.meta[PREPARED] = True
    for source in node.all_input_nodes:
        prepare(source)
