"""Code that a graph will surely need starts to compile while the graph is still on its way: LLVM
works on one core, PyTorch traces on the other. Comes in: a graph of Dynamo's or of ATen calls; what
it names is begun, nothing is waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import fx

from ingot.codegen import attention, executor, gemm

_aten = torch.ops.aten
_FLASH = _aten._scaled_dot_product_flash_attention_for_cpu.default
_PRODUCTS: tuple[Any, ...] = (F.linear, torch.addmm, torch.mm, torch.matmul)
_ATTENTION: tuple[Any, ...] = (F.scaled_dot_product_attention,)
_NEEDS: dict[Any, tuple[Callable[[torch.dtype], None], ...]] = {
    **dict.fromkeys(
        (*_PRODUCTS, _aten.addmm.default, _aten.mm.default, _aten.linear.default), (gemm.begin,)
    ),
    **dict.fromkeys(
        (*_ATTENTION, _aten.scaled_dot_product_attention.default, _FLASH),
        (gemm.begin, attention.begin),
    ),
}


def begin(graph: fx.Graph) -> None:
    executor.begin()
    needed = {
        (start, dtype)
        for node in graph.nodes
        if node.op == "call_function"
        for start in _NEEDS.get(node.target, ())
        for dtype in _dtypes(node)
        if dtype in gemm.DTYPES
    }
    for start, dtype in needed:
        start(dtype)


def _dtypes(node: fx.Node) -> set[torch.dtype]:
    """Of what it returns on the CPU."""
    value = node.meta.get("example_value", node.meta.get("val"))
    parts = value if isinstance(value, list | tuple) else (value,)
    return {p.dtype for p in parts if isinstance(p, torch.Tensor) and p.device.type == "cpu"}
