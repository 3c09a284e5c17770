"""Convert convolutions over channels-last images, of up to three spatial dimensions, to native
forms. A convolution with frozen weights becomes a native op with a fused epilogue: the addition of
another image, a clamp. A depthwise convolution with other weights becomes a sum of shifted images.
A strided 1×1 convolution reads the pixels that it needs first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import torch
from torch.fx import Node

from ingot.ops.kernel_shapes import why_not_dtype
from ingot.passes.base import Pass, ProgramDraft
from ingot.passes.convolution_call import ConvolutionCall, call_of
from ingot.passes.frozen import freeze, frozen_values
from ingot.passes.images import Images, are_alike, is_channels_last
from ingot.passes.normalize import val
from ingot.passes.transposed import flipped, patched
from ingot.program import native_ops
from ingot.program.annotations import STORED

aten = torch.ops.aten
MOST_TAPS = 49


@dataclass(frozen=True)
class Convolve(Pass):
    name: ClassVar[str] = "convolve"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        counts = {"native": 0, "depthwise as sums": 0, "strided 1×1 as matmuls": 0}
        frozen = frozen_values(draft)
        for node in list(draft.graph.nodes):
            if node.target is not aten.convolution.default or why_not_image(node, frozen):
                continue
            call = call_of(node)
            writer = _Writer(draft, node)
            if call.is_native(frozen) and call.is_patched():
                draft.swap(node, patched(writer, call, writer.alone))
                counts["native"] += 1
            elif call.is_native(frozen):
                writer.native(flipped(writer, call) if call.transposed else call)
                counts["native"] += 1
            elif _is_depthwise(call):
                node.replace_all_uses_with(writer.depthwise(call))
                draft.graph.erase_node(node)
                counts["depthwise as sums"] += 1
            elif _is_strided_point(call):
                none = (0,) * len(call.stride)
                node.update_arg(0, writer.laid_out(writer.shifted(call.image, call, none)))
                node.update_arg(3, [1] * len(none))
                counts["strided 1×1 as matmuls"] += 1
        return [f"{name}: {count}" for name, count in counts.items() if count]


def why_not_native(node: Node, frozen: set[Node]) -> str | None:
    """Why the pass leaves a convolution without a native op; None if it would not."""
    return call_of(node).why_not_native(frozen) or why_not_image(node, frozen)


def why_not_image(node: Node, frozen: set[Node]) -> str | None:
    """The reason against the layouts of a convolution's images."""
    made, image = val(node), val(node.args[0])
    refusal = why_not_dtype(made.dtype) or why_not_dtype(image.dtype)
    if refusal is not None:
        return refusal
    if not is_channels_last(made):
        return "its result is not channels-last"
    if not is_channels_last(image) and not call_of(node).reads_any_layout(frozen):
        return "its image is not channels-last"
    return None


def _is_depthwise(call: ConvolutionCall) -> bool:
    plain = not call.transposed and call.channels == (1, 1) and call.groups > 1
    return plain and math.prod(call.window) <= MOST_TAPS


def _is_strided_point(call: ConvolutionCall) -> bool:
    plain = not call.transposed and call.groups == 1 and math.prod(call.window) == 1
    return plain and not any(call.padding) and any(step > 1 for step in call.stride)


@dataclass(frozen=True)
class _Writer(Images):
    """Inserts calls before the convolution."""

    # -- native ------------------------------------------------------------------------------------

    def native(self, call: ConvolutionCall) -> None:
        """Emit the native op in place of the last op of its epilogue."""
        last, addend = _sum(self.before)
        chain = [last]
        last, low, high = _clamp(last)
        chain = [last, *chain] if last is not chain[0] else chain
        chain = [*chain, self.before] if self.before is not chain[-1] else chain
        writer = _Writer(self.draft, last)
        bias, parts = call.bias, call.parts()
        for number, (image, first, end) in enumerate(parts, 1):
            weight = call.weight
            if len(parts) > 1:
                weight = writer.call(aten.slice.Tensor, weight, 1, first, end)
            bounds = (low, high) if number == len(parts) else (-math.inf, math.inf)
            image = writer.padded(image, call.padding)
            addend = writer.native_call(image, weight, bias, addend, call, bounds)
            bias = None
        assert addend is not None
        self.draft.swap(last, addend)
        for node in chain[1:]:
            self.draft.graph.erase_node(node)

    def native_call(
        self, image: Node, weight: Node, bias: Node | None, addend: Node | None,
        call: ConvolutionCall, bounds: tuple[float, float],
    ) -> Node:  # fmt: skip
        freeze(weight)
        if bias is not None:
            freeze(bias)
        none = [0] * len(call.stride)
        return self.call(
            native_ops.convolution, image, weight, bias, addend, list(call.stride), none,
            list(call.dilation), call.groups, none, *bounds,
        )  # fmt: skip

    def alone(self, call: ConvolutionCall) -> Node:
        """A native call without an epilogue."""
        bounds = (-math.inf, math.inf)
        return self.native_call(call.image, call.weight, call.bias, None, call, bounds)

    # -- sums --------------------------------------------------------------------------------------

    def depthwise(self, call: ConvolutionCall) -> Node:
        image = self.padded(call.image, call.padding)
        dims = range(len(call.window))
        # Channels innermost in the weights too: one vector per window position.
        turned = self.call(aten.permute.default, call.weight, [*(2 + d for d in dims), 1, 0])
        weights = self.copied(turned)
        weights.meta[STORED] = True
        channels = val(call.weight).shape[0]
        sizes = [1, channels, *(1 for _ in dims)]
        total: Node | None = None
        if call.bias is not None:
            total = self.call(aten.view.default, call.bias, sizes)
        for place in product(*map(range, call.window)):
            part, vector = self.shifted(image, call, place), weights
            for number in place:
                vector = self.call(aten.select.int, vector, 0, number)
            weight = self.call(aten.view.default, vector, sizes)
            if total is None:
                total = self.call(aten.mul.Tensor, part, weight)
            else:
                total = self.call(aten.addcmul.default, total, part, weight)
        assert total is not None
        return total

    def shifted(self, image: Node, call: ConvolutionCall, place: Sequence[int]) -> Node:
        """The pixels that one window position reads."""
        for dim, number in enumerate(place):
            start, count = number * call.dilation[dim], val(self.before).shape[2 + dim]
            image = self.every(image, 2 + dim, start, call.stride[dim], count)
        return image


def _only_user(node: Node) -> Node | None:
    """The node's only user, if its result has the node's layout."""
    users = list(node.users)
    if len(users) != 1 or users[0].op != "call_function":
        return None
    made, given = users[0].meta.get("val"), val(node)
    return users[0] if isinstance(made, torch.Tensor) and are_alike(made, given) else None


def _sum(node: Node) -> tuple[Node, Node | None]:
    """(the addition that consumes the node, its other operand), or (the node, None)."""
    user = _only_user(node)
    if user is None or user.target is not aten.add.Tensor or user.kwargs:
        return node, None
    others = [a for a in user.args if a is not node]
    if len(others) != 1 or not isinstance(others[0], Node):
        return node, None
    return (user, others[0]) if are_alike(val(others[0]), val(node)) else (node, None)


def _clamp(node: Node) -> tuple[Node, float, float]:
    """(the clamp that consumes the node, its bounds), or (the node, no bounds)."""
    user = _only_user(node)
    bounds = None if user is None else _bounds(user)
    if user is None or bounds is None:
        return node, -math.inf, math.inf
    return user, *bounds


def _bounds(node: Node) -> tuple[float, float] | None:
    if node.target is aten.relu.default:
        return 0.0, math.inf
    if node.kwargs or node.target not in (aten.hardtanh.default, aten.clamp.default):
        return None
    none = (-1.0, 1.0) if node.target is aten.hardtanh.default else (None, None)
    given = (*node.args[1:], *none[len(node.args) - 1 :])
    if not all(number is None or isinstance(number, int | float) for number in given):
        return None
    low, high = (
        default if number is None else float(number)
        for number, default in zip(given, (-math.inf, math.inf), strict=True)
    )
    return (low, high) if low <= high else None
