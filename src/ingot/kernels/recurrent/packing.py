"""Packed weights of LSTMs, as plans name them."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ingot.ops.panels import packed_gates
from ingot.plan.attributes import register
from ingot.plan.ir import Packing


@register
@dataclass(frozen=True)
class Gates(Packing):
    """The weights of the four gates, padded to whole panels."""

    def make(self, *values: torch.Tensor) -> torch.Tensor:
        return packed_gates(*values)
