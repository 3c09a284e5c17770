"""Functions that eager steps of a plan call besides PyTorch's ops."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, or a copy of the same layout if it is lazily negated."""
    if not tensor.is_neg():
        return tensor
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype).copy_(tensor)


def laid_out(value: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """The value with the strides that the rest of the program expects."""
    if value.stride() == tuple(strides):
        return value
    return torch.empty_strided(value.shape, strides, dtype=value.dtype).copy_(value)
