"""The layout of packed weights: panels of columns, as wide as the register tile that reads them."""

from __future__ import annotations

import torch

from ingot.ops.kernel_shapes import GATES, matmul_shape


def packed(matrix: torch.Tensor, width: int) -> torch.Tensor:
    """B, of shape (k, n) and any strides, as panels: (panels, k, width), padded with zeros."""
    k, n = matrix.shape
    panels = -(-n // width)
    if n % width:
        padded = matrix.new_zeros(k, panels * width)
        padded[:, :n] = matrix
        matrix = padded
    return matrix.reshape(k, panels, width).permute(1, 0, 2).contiguous()


def packed_as(stored: torch.dtype, matrix: torch.Tensor) -> torch.Tensor:
    """B packed, with elements of dtype `stored`."""
    if stored is torch.int8:
        return packed_int8(matrix)
    return packed(matrix, matmul_shape(matrix.dtype).columns).to(stored)


def packed_int8(matrix: torch.Tensor) -> torch.Tensor:
    """B as bytes: panels of 8-bit integers, each after the scales of its columns. The largest
    magnitude of a column becomes 127, so each element is off by at most 1/254 of it. A column with
    an infinity or a NaN becomes NaN."""
    scales = torch.maximum(matrix.amax(0), -matrix.amin(0)) / 127
    scales = torch.where(scales.isfinite(), scales, torch.nan)
    whole = (matrix / torch.where(scales > 0, scales, 1)).round_().to(torch.int8)
    width = matmul_shape(matrix.dtype).columns
    panels = -(-scales.numel() // width)
    heads = scales.new_zeros(panels * width)
    heads[: scales.numel()] = scales
    heads = heads.view(panels, width).view(torch.uint8)
    return torch.cat([heads, packed(whole, width).view(torch.uint8).flatten(1)], 1)


def packed_gates(weight: torch.Tensor) -> torch.Tensor:
    """(4 · units, k) as panels, gate after gate."""
    parts = weight.reshape(GATES, -1, weight.shape[1])
    width = matmul_shape(weight.dtype).columns
    return torch.cat([packed(part.t(), width).flatten() for part in parts])
