"""Transposed convolutions as plain ones, with weights rearranged from frozen weights. With stride
one the window is flipped. Otherwise the output pixels between two input pixels are channels of one
patch: a plain convolution computes the patches, which are then laid out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch.fx import Node

from ingot.passes.convolution_call import ConvolutionCall
from ingot.passes.images import Images
from ingot.passes.normalize import val

aten = torch.ops.aten


def flipped(images: Images, call: ConvolutionCall) -> ConvolutionCall:
    """The plain call, for stride one."""
    read, made = call.channels
    window, dims = list(call.window), range(len(call.window))
    weight = images.copied(call.weight)
    groups = images.call(aten.view.default, weight, [call.groups, read, made, *window])
    turned = images.call(aten.permute.default, groups, [0, 2, 1, *(3 + d for d in dims)])
    turned = images.copied(images.call(aten.flip.default, turned, [3 + d for d in dims]))
    weight = images.call(aten.view.default, turned, [call.groups * made, read, *window])
    sides = zip(call.dilation, window, call.padding, strict=True)
    padding = [d * (k - 1) - p for d, k, p in sides]
    return replace(call, weight=weight, padding=padding, transposed=False)


def patched(
    images: Images, call: ConvolutionCall, convolved: Callable[[ConvolutionCall], Node]
) -> Node:
    """The result, for larger strides; `convolved` emits a plain call."""
    patches, dims = call.patches(), len(call.stride)
    plain = replace(
        call, image=images.padded(call.image, [n - 1 for n in patches]),
        weight=_patch_weight(images, call), bias=_patch_bias(images, call), stride=[1] * dims,
        padding=[0] * dims, transposed=False,
    )  # fmt: skip
    batch, _, *space = val(call.image).shape
    counts = [size + n - 1 for size, n in zip(space, patches, strict=True)]
    made = call.channels[1]
    turned = images.call(aten.permute.default, convolved(plain), [0, *range(2, 2 + dims), 1])
    parts = images.call(aten.view.default, turned, [batch, *counts, *call.stride, made])
    order = [1 + d + part for d in range(dims) for part in (0, dims)]
    joined = images.copied(images.call(aten.permute.default, parts, [0, *order, 1 + 2 * dims]))
    sizes = [count * step for count, step in zip(counts, call.stride, strict=True)]
    joined = images.call(aten.view.default, joined, [batch, *sizes, made])
    image = images.call(aten.permute.default, joined, [0, 1 + dims, *range(1, 1 + dims)])
    return _cropped(images, image, call)


def _patch_weight(images: Images, call: ConvolutionCall) -> Node:
    """(pixels of a patch · channels produced, channels read, patches…): the window is cut into
    patches, whose order is reversed."""
    read, made = call.channels
    steps, patches, dims = call.stride, call.patches(), range(len(call.stride))
    pairs = [size for pair in zip(patches, steps, strict=True) for size in pair]
    weight = images.call(aten.view.default, images.copied(call.weight), [read, made, *pairs])
    order = [*(3 + 2 * d for d in dims), 1, 0, *(2 + 2 * d for d in dims)]
    weight = images.call(aten.permute.default, weight, order)
    weight = images.call(aten.flip.default, weight, [len(dims) + 2 + d for d in dims])
    sizes = [math.prod(steps) * made, read, *patches]
    return images.call(aten.view.default, images.copied(weight), sizes)


def _patch_bias(images: Images, call: ConvolutionCall) -> Node | None:
    if call.bias is None:
        return None
    return images.call(aten.repeat.default, call.bias, [math.prod(call.stride)])


def _cropped(images: Images, image: Node, call: ConvolutionCall) -> Node:
    """Crop the pixels that padding removes."""
    for dim, (first, more) in enumerate(zip(call.padding, call.output_padding, strict=True)):
        if first:
            count = val(image).shape[2 + dim] - 2 * first + more
            image = images.slice(image, 2 + dim, (first, first + count, 1), count)
    return images.laid_out(image) if any(call.padding) else image
