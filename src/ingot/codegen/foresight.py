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

from ingot.codegen import (
    attention,
    convolution,
    executor,
    launcher,
    product,
    weight_guard,
    winograd,
)
from ingot.ops.kernel_shapes import DTYPES

_aten = torch.ops.aten
_FLASH = _aten._scaled_dot_product_flash_attention_for_cpu.default
_PRODUCTS: tuple[Any, ...] = (F.linear, torch.addmm, torch.mm, torch.matmul)
_ATTENTION: tuple[Any, ...] = (F.scaled_dot_product_attention,)
_CONVOLUTIONS: tuple[Any, ...] = (
    torch.conv1d, torch.conv2d, torch.conv3d, _aten.conv1d.default, _aten.conv2d.default,
    _aten.conv3d.default, _aten.convolution.default,
)  # fmt: skip
_NEEDS: dict[Any, tuple[Callable[[torch.dtype], None], ...]] = {
    **dict.fromkeys(
        (*_PRODUCTS, _aten.addmm.default, _aten.mm.default, _aten.linear.default), (product.begin,)
    ),
    **dict.fromkeys(
        (*_ATTENTION, _aten.scaled_dot_product_attention.default, _FLASH),
        (product.begin, attention.begin),
    ),
    **dict.fromkeys(_CONVOLUTIONS, (convolution.begin,)),
}


def begin(graph: fx.Graph) -> None:
    executor.begin()
    launcher.begin()
    needed = {
        (start, dtype)
        for node in graph.nodes
        if node.op == "call_function"
        for start in (*_NEEDS.get(node.target, ()), *_more(node))
        for dtype in _dtypes(node)
        if dtype in DTYPES
    }
    for start, dtype in needed:
        start(dtype)
    if needed:
        weight_guard.begin()


def _more(node: fx.Node) -> tuple[Callable[[torch.dtype], None], ...]:
    """What depends on more than the op."""
    if node.target not in _CONVOLUTIONS:
        return ()
    weight = node.args[1] if len(node.args) > 1 else node.kwargs.get("weight")
    value = _value(weight) if isinstance(weight, fx.Node) else None
    square = isinstance(value, torch.Tensor) and tuple(value.shape[2:]) == (3, 3)
    return (winograd.begin,) if square else ()


def _value(node: fx.Node) -> Any:
    return node.meta.get("example_value", node.meta.get("val"))


def _dtypes(node: fx.Node) -> set[torch.dtype]:
    """Of what it returns on the CPU."""
    value = _value(node)
    parts = value if isinstance(value, list | tuple) else (value,)
    return {p.dtype for p in parts if isinstance(p, torch.Tensor) and p.device.type == "cpu"}
