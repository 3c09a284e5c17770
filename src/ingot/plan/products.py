"""Which matrix products run as our own native code. Comes in: a call of mm or addmm; goes out: what
the product function needs, or the reason why PyTorch does it. What holds: the second factor is a
weight, one that stays from call to call, so that packing it pays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from ingot.fuse import index as ix
from ingot.fuse.index import Size
from ingot.fuse.shapes import arguments_of, shape_of, strides_of, tensor_of
from ingot.fuse.views import base_of
from ingot.plan.places import native_view

aten = torch.ops.aten


@dataclass(frozen=True)
class Product:
    """c[m, n] = addend + a[m, k] · weight[k, n]"""

    node: fx.Node
    left: fx.Node
    weight: fx.Node
    """A view, perhaps, of an input that stays."""
    addend: fx.Node | None

    @property
    def sizes(self) -> tuple[Size, Size, Size]:
        m, k = shape_of(self.left)
        return m, shape_of(self.weight)[1], k

    def reads(self) -> list[fx.Node]:
        return [self.left] if self.addend is None else [self.left, self.addend]


def product_of(node: fx.Node, lasting: set[fx.Node]) -> Product | None:
    """`lasting` are the inputs whose memory is the same tensor's in every call."""
    if node.target is aten.mm.default:
        left, weight = node.args
        return _checked(Product(node, left, weight, None), lasting)  # type: ignore[arg-type]
    if node.target is aten.addmm.default:
        given = arguments_of(node)
        if given["beta"] != 1 or given["alpha"] != 1:
            return None
        product = Product(node, given["mat1"], given["mat2"], given["self"])
        return _checked(product, lasting)
    return None


def _checked(product: Product, lasting: set[fx.Node]) -> Product | None:
    nodes: list[Any] = [product.node, product.left, product.weight]
    dtype = tensor_of(product.node).dtype
    if dtype not in (torch.float32, torch.float64):
        return None
    if any(tensor_of(n).dtype is not dtype or tensor_of(n).is_neg() for n in nodes):
        return None
    if root_of(product.weight) not in lasting or not _constant_shape(product.weight):
        return None
    depth = shape_of(product.left)[1]
    if not isinstance(depth, int) or not (depth == 1 or strides_of(product.left)[1] == 1):
        return None
    if strides_of(product.node)[1:] != (1,) or 0 in shape_of(product.weight):
        return None
    return product if product.addend is None or _addable(product, product.addend) else None


def root_of(node: fx.Node) -> fx.Node:
    """What has the memory that `node` is a view of."""
    while native_view(node):
        node = base_of(node)
    return node


def _constant_shape(node: fx.Node) -> bool:
    return all(isinstance(s, int) for s in (*shape_of(node), *strides_of(node)))


def _addable(product: Product, addend: fx.Node) -> bool:
    """A row, or a matrix by rows."""
    value = tensor_of(addend)
    if value.dtype is not tensor_of(product.node).dtype or value.is_neg():
        return False
    shape, strides = shape_of(addend), strides_of(addend)
    columns = shape_of(product.node)[1]
    if not shape or not ix.same_size(shape[-1], columns) or strides[-1] != 1:
        return False
    return len(shape) == 1 or ix.same_size(shape[0], shape_of(product.node)[0])


def row_stride(addend: fx.Node) -> Size:
    return strides_of(addend)[0] if len(shape_of(addend)) == 2 else 0
