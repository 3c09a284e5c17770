"""Ops that passes emit for native code; no user program contains them. Each has an implementation
in terms of ATen, which defines it and runs where no native code claims it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

PURE_NAMESPACES = ("aten", "prims", "ingot_native")
"""Namespaces whose ops only compute a value, unless their schemas say otherwise."""

_library = torch.library.Library("ingot_native", "DEF")
_library.define(
    "convolution(Tensor image, Tensor weight, Tensor? bias, Tensor? addend, int[] stride, "
    "int[] padding, int[] dilation, int groups, int[] border, float low, float high) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def _convolution(
    image: Tensor, weight: Tensor, bias: Tensor | None, addend: Tensor | None,
    stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int,
    border: Sequence[int], low: float, high: float,
) -> Tensor:  # fmt: skip
    """clamp(convolution + addend, low, high), `border` zeros on each side, channels innermost."""
    none = [0] * len(stride)
    result = torch.ops.aten.convolution.default(
        image, weight, bias, stride, padding, dilation, False, none, groups
    )
    if addend is not None:
        result = result + addend
    result = result.clamp(low, high)
    if any(border):
        result = torch.constant_pad_nd(result, [b for b in reversed(border) for _ in range(2)])
    return result.movedim(1, -1).contiguous().movedim(-1, 1)


def _convolution_meta(
    image: Tensor, weight: Tensor, bias: Tensor | None, addend: Tensor | None,
    stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int,
    border: Sequence[int], low: float, high: float,
) -> Tensor:  # fmt: skip
    sizes: list[Any] = [image.shape[0], weight.shape[0]]
    for dim, size in enumerate(image.shape[2:]):
        reach = dilation[dim] * (weight.shape[2 + dim] - 1) + 1
        inside = (size + 2 * padding[dim] - reach) // stride[dim] + 1
        sizes.append(inside + 2 * border[dim])
    return image.new_empty_strided(sizes, channels_last_strides(sizes))


def channels_last_strides(sizes: Sequence[Any]) -> list[Any]:
    """The strides of an image whose channels, the second dimension, are innermost."""
    strides: list[Any] = [1] * len(sizes)
    step = sizes[1]
    for dim in range(len(sizes) - 1, 1, -1):
        strides[dim] = step
        step = step * sizes[dim]
    strides[0] = step
    return strides


_library.impl("convolution", _convolution, "CompositeExplicitAutograd")
_library.impl("convolution", _convolution_meta, "Meta")

convolution = torch.ops.ingot_native.convolution.default

_library.define(
    "attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool causal, float scale)"
    " -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def _attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool, scale: float
) -> Tensor:
    result: Tensor = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(
        query, key, value, 0.0, causal, attn_mask=mask, scale=scale
    )[0]
    return result


_library.impl("attention", _attention, "CompositeExplicitAutograd")

attention = torch.ops.ingot_native.attention.default

_library.define(
    "lstm(Tensor gates, Tensor weight, Tensor hidden, Tensor cell, bool backward) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def _lstm(gates: Tensor, weight: Tensor, hidden: Tensor, cell: Tensor, backward: bool) -> Tensor:
    """An LSTM layer: (steps, batch, 4 · padded units) to (steps + 1, batch, units), the hidden
    states of all steps followed by the last cell state. In each step `gates` is added to the matmul
    of the hidden state with `weight`, (4 · units, units)."""
    units = hidden.shape[-1]
    steps = gates.unflatten(-1, (4, -1))[..., :units]
    parts = weight.unflatten(0, (4, units))
    states: list[Tensor] = []
    for given in reversed(steps) if backward else steps:
        sums = given + torch.einsum("bk,guk->bgu", hidden, parts)
        into, kept, new, seen = sums.unbind(1)
        cell = kept.sigmoid() * cell + into.sigmoid() * new.tanh()
        hidden = seen.sigmoid() * cell.tanh()
        states.append(hidden)
    return torch.stack([*(reversed(states) if backward else states), cell])


def _lstm_meta(
    gates: Tensor, weight: Tensor, hidden: Tensor, cell: Tensor, backward: bool
) -> Tensor:
    return gates.new_empty(gates.shape[0] + 1, *hidden.shape)


_library.impl("lstm", _lstm, "CompositeExplicitAutograd")
_library.impl("lstm", _lstm_meta, "Meta")

lstm = torch.ops.ingot_native.lstm.default

_library.define(
    "spread(Tensor distance, int[] dim, bool keepdim) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def _spread(distance: Tensor, dim: list[int], keepdim: bool) -> Tensor:
    """The sum of squared distances from a mean, less the excess that is due to the mean's rounding:
    n times the square of its error."""
    squares = (distance * distance).sum(dim, keepdim)
    rest = distance.sum(dim, keepdim)
    extra = rest * rest / (distance.numel() / max(1, squares.numel()))
    return torch.where(extra < torch.inf, (squares - extra).clamp(min=0), squares)


def _spread_meta(distance: Tensor, dim: list[int], keepdim: bool) -> Tensor:
    return distance.sum(dim, keepdim)


_library.impl("spread", _spread, "CompositeExplicitAutograd")
_library.impl("spread", _spread_meta, "Meta")

spread = torch.ops.ingot_native.spread.default
