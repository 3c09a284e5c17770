"""The size of a value's memory, and the views that only move a pointer."""

from __future__ import annotations

from functools import cache

import torch
from torch import fx

from ingot.fuse.views import base_of, is_view
from ingot.program.shapes import Size, shape_of, strides_of, tensor_of


def bytes_of(node: fx.Node) -> Size:
    """Memory of a value from its first element to its last, in bytes."""
    shape, strides = shape_of(node), strides_of(node)
    if any(isinstance(s, int) and s == 0 for s in shape):
        return 0
    extent: Size = 1
    for size, stride in zip(shape, strides, strict=True):
        extent = extent + (size - 1) * stride
    return extent * tensor_of(node).dtype.itemsize


def native_view(node: fx.Node) -> bool:
    """Is the view obtained by moving a pointer?"""
    if not is_view(node) or not _shares_memory(node.target):
        return False
    base = base_of(node)
    value, under = tensor_of(node), base.meta.get("val")
    return (
        isinstance(under, torch.Tensor)
        and value.dtype is under.dtype
        and not value.is_neg()
        and not value.is_conj()
        and not value.is_complex()
    )


@cache
def _shares_memory(target: torch._ops.OpOverload) -> bool:
    """flip and similar ops are index maps in ingot but copies in PyTorch."""
    return target._schema.arguments[0].alias_info is not None
