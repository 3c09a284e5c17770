"""Compiles code that a graph will probably need while the graph is still being lowered: LLVM works
on one core, PyTorch traces on the other. Nothing waits for it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from ingot.codegen.support import executor, launcher, weight_guard
from ingot.kernels.registry import FAMILIES
from ingot.ops.kernel_shapes import DTYPES


def begin(graph: fx.Graph) -> None:
    """`graph` holds the calls that Dynamo traced, or ATen calls."""
    executor.begin()
    launcher.begin()
    needed = False
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        for family in FAMILIES:
            if node.target not in family.early:
                continue
            for dtype in _dtypes(node) & set(DTYPES):
                family.precompile(node, dtype)
                needed = True
    if needed:
        weight_guard.begin()


def _dtypes(node: fx.Node) -> set[torch.dtype]:
    """The dtypes of the tensors that it returns on the CPU."""
    value: Any = node.meta.get("example_value", node.meta.get("val"))
    parts = value if isinstance(value, list | tuple) else (value,)
    return {p.dtype for p in parts if isinstance(p, torch.Tensor) and p.device.type == "cpu"}
