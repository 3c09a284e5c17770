"""Ops that make quantized tensors. PyTorch's fake kernels give them an ordinary dtype (f32 for
`quantize_per_tensor`), so the metadata of their results, and of values computed from those, is
unreliable. Such a graph is left to PyTorch.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

DTYPES = {torch.qint8, torch.quint8, torch.qint32, torch.quint4x2, torch.quint2x4}
MAKERS = ("quantize_per_", "_make_per_", "_empty_affine_quantized", "_empty_per_channel_affine",
          "empty_quantized", "_quantize")  # fmt: skip
"""Prefixes of their names in ATen; those with a dtype argument are recognised by that as well."""


def why_uncertain(gm: fx.GraphModule) -> str | None:
    """Why the dtypes in this graph, or in a nested one, may be wrong; None if they are not."""
    for module in gm.modules():
        if isinstance(module, fx.GraphModule):
            for node in module.graph.nodes:
                if node.op == "call_function" and makes_quantized(node):
                    return (
                        f"{node.target} makes a quantized tensor, which PyTorch's fake tensors "
                        "treat as an ordinary one"
                    )
    return None


def makes_quantized(node: fx.Node) -> bool:
    target: Any = node.target
    given = (*node.args, *node.kwargs.values())  # no op takes a list of dtypes
    if any(isinstance(each, torch.dtype) and each in DTYPES for each in given):
        return True
    if not isinstance(target, torch._ops.OpOverload):
        return False
    return target.namespace == "quantized" or (
        target.namespace == "aten" and target._opname.startswith(MAKERS)
    )
