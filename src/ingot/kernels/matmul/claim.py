"""Claims on matmuls with weights: mm, addmm or a 1×1 convolution whose second operand is frozen, so
that packing it pays. Other calls are refused with a reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from ingot.kernels.family import Claim, Pair, Reason, why_not_frozen, why_not_operands
from ingot.ops.dtypes import HALVES
from ingot.passes.widen import CONVERT, WIDE
from ingot.plan.derived import derived, is_derived
from ingot.plan.places import native_view
from ingot.program.graph import chain_root
from ingot.program.shapes import Size, arguments_of, same_size, shape_of, strides_of, tensor_of

aten = torch.ops.aten
SCALED = "alpha or beta is not 1"


@dataclass(frozen=True)
class Matmul(Claim):
    """c[m, n] = addend + a[m, k] · weight[k, n], row-major"""

    left: fx.Node
    addend: fx.Node | None
    sizes: tuple[Size, Size, Size]
    """(m, n, k)"""
    row_strides: tuple[Size, Size, Size]
    """The row strides of a, c and the addend."""
    weight: Weight

    @property
    def is_linear(self) -> bool:
        return self.node.target is not aten.convolution.default

    def equal_sizes(self) -> Iterator[Pair]:
        yield self.sizes[2], self.weight.shape[0]

    def reads(self) -> list[fx.Node]:
        more = [] if self.addend is None else [self.addend]
        return [self.left, *more, *derived(self.weight.root).roots]


@dataclass(frozen=True)
class Weight:
    """A matrix in the memory of a frozen input."""

    root: fx.Node
    shape: tuple[int, int]
    strides: tuple[int, int]
    offset: int

    @property
    def recipe(self) -> str:
        return f"panels of {self.shape} {self.strides} {self.offset}"

    @property
    def exact(self) -> torch.dtype:
        """The dtype that holds it without loss: half precision if it was converted from that."""
        dtype = tensor_of(self.root).dtype
        if not is_derived(self.root) or self.root.target is not CONVERT or dtype is not WIDE:
            return dtype
        source = tensor_of(self.root.args[0]).dtype  # type: ignore[arg-type]
        return source if source in HALVES else dtype

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        start = tensor.storage_offset() + self.offset
        return tensor.as_strided(self.shape, self.strides, start)


def matmul_of(node: fx.Node, frozen: set[fx.Node]) -> Matmul | Reason | None:
    """The matmul that computes the node, the reason against it, or None if the node is no matmul.
    `frozen` are the inputs whose memory is the same tensor's in every call."""
    if node.target is aten.mm.default:
        left, weight = node.args
        return _of_matrices(node, left, weight, None, frozen)  # type: ignore[arg-type]
    if node.target is aten.addmm.default:
        given = arguments_of(node)
        if given["beta"] != 1 or given["alpha"] != 1:
            return Reason(SCALED)
        return _of_matrices(node, given["mat1"], given["mat2"], given["self"], frozen)
    if node.target is aten.convolution.default:
        return _of_images(node, frozen)
    return None


def _of_matrices(
    node: fx.Node, left: fx.Node, right: fx.Node, addend: fx.Node | None, frozen: set[fx.Node]
) -> Matmul | Reason:
    refusal = why_not_operands(node, left, right, addend)
    if refusal is not None:
        return Reason(refusal)
    weight = _weight(right, tuple(shape_of(right)), tuple(strides_of(right)), frozen)
    if isinstance(weight, Reason):
        return weight
    m, k = shape_of(left)
    if k != 1 and strides_of(left)[1] != 1:
        return Reason("the rows of the first operand are not contiguous")
    if strides_of(node)[1:] != (1,):
        return Reason("the rows of the result are not contiguous")
    step: Size = 0
    if addend is not None:
        shape, strides = shape_of(addend), strides_of(addend)
        if not shape or shape[-1] != weight.shape[1] or strides[-1] != 1:
            return Reason("the addend has no complete, contiguous rows")
        if len(shape) == 2:
            if not same_size(shape[0], m):
                return Reason("the addend has another number of rows than the result")
            step = strides[0]
    rows = (strides_of(left)[0], strides_of(node)[0], step)
    return Matmul(node, left, addend, (m, weight.shape[1], k), rows, weight)


def _of_images(node: fx.Node, frozen: set[fx.Node]) -> Matmul | Reason | None:
    """A 1×1 convolution of images with innermost channels: pixels are rows."""
    given = arguments_of(node)
    left, filters, bias = given["input"], given["weight"], given["bias"]
    simple = (
        not given["transposed"]
        and given["groups"] == 1
        and all(n == 1 for n in (*given["stride"], *given["dilation"]))
        and all(p == 0 for p in given["padding"])
        and len(shape_of(node)) == 4
        and shape_of(filters)[2:] == (1, 1)
    )
    if not simple:
        return None
    refusal = why_not_operands(node, left, filters, bias)
    if refusal is not None:
        return Reason(refusal)
    if bias is not None and strides_of(bias) != (1,):
        return Reason("the bias is not contiguous")
    if not _pixels_are_rows(left) or not _pixels_are_rows(node):
        return Reason("the images are not channels-last")
    n, channels = shape_of(filters)[:2]
    outer, inner = strides_of(filters)[:2]
    weight = _weight(filters, (channels, n), (inner, outer), frozen)
    if isinstance(weight, Reason):
        return weight
    images, _, height, width = shape_of(node)
    sizes = (images * height * width, n, channels)
    return Matmul(node, left, bias, sizes, (channels, n, 0), weight)


def _pixels_are_rows(image: fx.Node) -> bool:
    """Whether it is a contiguous list of pixels, each of them its channels."""
    _, channels, height, width = shape_of(image)
    wanted = (height * width * channels, 1, width * channels, channels)
    return all(
        same_size(have, want) or same_size(size, 1)
        for have, want, size in zip(strides_of(image), wanted, shape_of(image), strict=True)
    )


def _weight(
    node: fx.Node,
    shape: tuple[Any, ...],
    strides: tuple[Any, ...],
    frozen: set[fx.Node],
) -> Weight | Reason:
    root = root_of(node)
    if root not in frozen:
        return Reason(why_not_frozen(root, "the second operand"))
    if not all(isinstance(s, int) for s in (*shape, *strides)):
        return Reason("the weight has a symbolic size or stride")
    if 0 in shape:
        return Reason("the weight is empty")
    offset = tensor_of(node).storage_offset() - tensor_of(root).storage_offset()
    return Weight(root, shape, strides, int(offset))


def root_of(node: fx.Node) -> fx.Node:
    """The node whose memory `node` is a view of."""
    return chain_root(node, lambda n: native_view(n) and not is_derived(n))
