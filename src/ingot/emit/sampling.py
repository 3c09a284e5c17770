"""Decomposition of `grid_sample` on volumes; torch-mlir lowers it for planes only. Bilinear mode
gathers and weights the eight neighbours of each point.
"""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from ingot.emit.decompositions import decomposes

aten = torch.ops.aten

BILINEAR, NEAREST = 0, 1
ZEROS, BORDER = 0, 1


@decomposes(aten.grid_sampler_3d.default)
def grid_sampler_3d(x: Tensor, grid: Tensor, mode: int, padding: int, align: bool) -> Tensor:
    sizes = x.shape[2:]
    if not all(isinstance(size, int) for size in sizes):
        return NotImplemented
    places = [
        _inside(_unnormalized(grid[..., 2 - i], size, align), size, padding, align)
        for i, size in enumerate(sizes)
    ]
    if mode == NEAREST:
        return _read(x, [place.round() for place in places])
    lows = [place.floor() for place in places]
    total = torch.zeros((), dtype=x.dtype)
    for corner in itertools.product((0, 1), repeat=3):
        weight = torch.ones((), dtype=x.dtype)
        for place, low, step in zip(places, lows, corner):
            weight = weight * ((place - low) if step else (low + 1 - place))
        total = total + _read(
            x, [low + step for low, step in zip(lows, corner)]
        ) * weight.unsqueeze(1)
    return total


def _unnormalized(place: Tensor, size: int, align: bool) -> Tensor:
    """Coordinates in -1 ... 1 as element positions."""
    return (place + 1) / 2 * (size - 1) if align else ((place + 1) * size - 1) / 2


def _inside(place: Tensor, size: int, padding: int, align: bool) -> Tensor:
    if padding == ZEROS:
        return place
    if padding != BORDER:
        low, span = (0.0, size - 1.0) if align else (-0.5, float(size))
        place = _reflected(place, low, span) if span else torch.zeros_like(place)
    return place.clamp(0, size - 1)


def _reflected(place: Tensor, low: float, span: float) -> Tensor:
    far = (place - low).abs()
    turns = torch.floor(far / span)
    rest = far - turns * span
    odd = turns - 2 * torch.floor(turns / 2) != 0
    return torch.where(odd, span - rest, rest) + low


def _read(x: Tensor, places: list[Tensor]) -> Tensor:
    """Gather at integral positions; zero outside of the volume."""
    sizes = x.shape[2:]
    valid = torch.ones((), dtype=torch.bool)
    flat = torch.zeros((), dtype=torch.int64)
    for place, size in zip(places, sizes):
        valid = valid & (place >= 0) & (place <= size - 1)
        flat = flat * size + place.clamp(0, size - 1).to(torch.int64)
    rows = flat.reshape(flat.shape[0], 1, -1).expand(-1, x.shape[1], -1)
    picked = x.flatten(2).gather(2, rows).reshape(*x.shape[:2], *flat.shape[1:])
    return torch.where(valid.unsqueeze(1), picked, 0)
