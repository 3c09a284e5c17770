"""Forward and backward from AOTAutograd's joint graph, by PyTorch's min-cut partitioner. The
backward never reads an input that the forward overwrites: the partitioner would save the input
itself, recompute from it, and find the new value there. All readers of such an input therefore read
a copy, which can only be saved.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.utils.checkpoint import CheckpointPolicy

aten = torch.ops.aten


def partition(
    joint: fx.GraphModule, inputs: Any, **arguments: Any
) -> tuple[fx.GraphModule, fx.GraphModule]:
    for write in joint.graph.find_nodes(op="call_function", target=aten.copy_.default):
        if write.args[0].op == "placeholder":
            _copy_before(joint.graph, write.args[0], write)
    forward, backward = min_cut_rematerialization_partition(joint, inputs, **arguments)
    return forward, backward


def _copy_before(graph: fx.Graph, written: fx.Node, write: fx.Node) -> None:
    """Make every user but `write` read a copy of `written`."""
    readers = [u for u in written.users if u is not write]
    if not readers:
        return
    last = next(n for n in graph.nodes if n.op != "placeholder")
    with graph.inserting_before(last):
        old = graph.call_function(aten.clone.default, (written,))
    old.meta = {
        **written.meta,
        "recompute": CheckpointPolicy.MUST_SAVE,
        "ac_graph_id": 0,
        "partitioner_tag": "is_forward",
    }
    for reader in readers:
        reader.replace_input_with(written, old)
