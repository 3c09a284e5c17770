"""Packed weights of matmuls, as plans name them."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ingot.ops.panels import packed_as
from ingot.plan.attributes import register
from ingot.plan.ir import Packing


@register
@dataclass(frozen=True)
class Panels(Packing):
    """A weight as panels of columns, with elements of dtype `stored`."""

    stored: torch.dtype
    shape: tuple[int, int]
    strides: tuple[int, int]
    offset: int

    def make(self, *values: torch.Tensor) -> torch.Tensor:
        (tensor,) = values
        start = tensor.storage_offset() + self.offset
        return packed_as(self.stored, tensor.as_strided(self.shape, self.strides, start))
