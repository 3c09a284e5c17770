"""Storage offsets of views after a rewrite. A pass that replaces a view's base (a copy of an input
by a slice of it) moves the view as well. Buffer assignment addresses a view by the difference
between its offset and its base's, so a stale offset reads other memory.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx import Graph, Node

from ingot.program.graph import is_view

aten = torch.ops.aten

_IN_PLACE = frozenset(
    {
        aten.alias.default, aten.detach.default, aten.expand.default, aten.permute.default,
        aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims,
        aten.t.default, aten.transpose.int, aten.unsqueeze.default, aten.view.default,
        aten._unsafe_view.default,
    }
)  # fmt: skip
"""Views that start where their base starts."""


def refresh_offsets(graph: Graph) -> None:
    """Recompute each view's offset in the memory of its base."""
    for node in graph.nodes:
        if not is_view(node) or not isinstance(node.args[0], Node):
            continue
        base: Any = node.args[0].meta.get("val")
        val: Any = node.meta.get("val")
        if not _is_placed(base) or not _is_placed(val):
            continue
        offset = _offset(node, base)
        if offset is not None and offset != val.storage_offset():
            node.meta["val"] = _moved(val, offset)


def _is_placed(val: Any) -> bool:
    """Whether this is a strided fake tensor with a static offset."""
    return (
        isinstance(val, FakeTensor)
        and val.layout is torch.strided
        and isinstance(val.storage_offset(), int)
    )


def _offset(node: Node, base: Tensor) -> int | None:
    """None if the op has no rule here or an argument is symbolic."""
    start = int(base.storage_offset())
    if node.target in _IN_PLACE:
        return start
    if node.target not in (aten.select.int, aten.slice.Tensor) or node.kwargs:
        return None
    dim = node.args[1] if len(node.args) > 1 else 0
    index = node.args[2] if len(node.args) > 2 else 0
    index = 0 if index is None else index
    if not isinstance(dim, int) or not isinstance(index, int):
        return None
    size, stride = base.shape[dim], base.stride(dim)
    if index == 0:
        return start
    if not isinstance(size, int) or not isinstance(stride, int):
        return None
    index = index + size if index < 0 else index
    return start + min(max(index, 0), size) * stride


def _moved(val: Any, offset: int) -> Tensor:
    count = offset + 1
    for size, stride in zip(val.shape, val.stride()):
        count = count + (size - 1) * stride
    with val.fake_mode:
        memory = torch.empty_strided((count,), (1,), dtype=val.dtype, device=val.device)
        return memory.as_strided(val.shape, val.stride(), offset)
