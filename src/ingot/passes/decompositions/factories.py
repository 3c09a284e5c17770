"""Tensors filled with one value, all as aten.full with explicit dtype and device. Strides are
eager's: full_like stays if the result must inherit strides that are not contiguous.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._prims_common import is_contiguous_or_false

from ingot.passes.decompositions import decomposes

aten = torch.ops.aten


def filled(
    shape: Sequence[Any], value: Any, dtype: torch.dtype | None, device: Any, layout: Any = None
) -> Any:
    if layout not in (None, torch.strided):
        return NotImplemented
    return aten.full(
        shape,
        value,
        dtype=dtype or torch.get_default_dtype(),
        layout=torch.strided,
        device=device or torch.device("cpu"),
        pin_memory=False,
    )


@decomposes("zeros", "_efficientzerotensor")
def zeros(
    size: Sequence[Any],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Any:
    return filled(size, 0, dtype, device, layout)


@decomposes("ones")
def ones(
    size: Sequence[Any],
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Any:
    return filled(size, 1, dtype, device, layout)


@decomposes("new_full")
def new_full(
    x: Tensor,
    size: Sequence[Any],
    value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Any:
    return filled(size, value, dtype or x.dtype, device or x.device, layout or x.layout)


@decomposes("new_zeros")
def new_zeros(x: Tensor, size: Sequence[Any], **options: Any) -> Any:
    return new_full(x, size, 0, **options)


@decomposes("new_ones")
def new_ones(x: Tensor, size: Sequence[Any], **options: Any) -> Any:
    return new_full(x, size, 1, **options)


@decomposes("full_like")
def full_like(
    x: Tensor,
    value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    memory_format: Any = None,
) -> Any:
    takes_strides = memory_format in (None, torch.preserve_format)
    if takes_strides and not is_contiguous_or_false(x):
        return NotImplemented
    if not takes_strides and memory_format != torch.contiguous_format:
        return NotImplemented
    return filled(x.shape, value, dtype or x.dtype, device or x.device, layout or x.layout)


@decomposes("zeros_like")
def zeros_like(x: Tensor, **options: Any) -> Any:
    return _like(x, 0, options)


@decomposes("ones_like")
def ones_like(x: Tensor, **options: Any) -> Any:
    return _like(x, 1, options)


def _like(x: Tensor, value: Any, options: dict[str, Any]) -> Any:
    if (options.get("layout") or x.layout) is not torch.strided:
        return NotImplemented
    return aten.full_like(x, value, **options)


@decomposes("fill.Scalar")
def fill_scalar(x: Tensor, value: Any) -> Tensor:
    return aten.full_like(x, value)


@decomposes("zero")
def zero(x: Tensor) -> Tensor:
    return aten.full_like(x, 0)


@decomposes("arange")
def arange(end: Any, **options: Any) -> Tensor:
    return aten.arange.start_step(0, end, 1, **options)


@decomposes("arange.start")
def arange_start(start: Any, end: Any, **options: Any) -> Tensor:
    return aten.arange.start_step(start, end, 1, **options)
