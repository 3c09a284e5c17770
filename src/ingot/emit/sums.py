"""Decompositions of distances, embedding bags and histograms."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ingot.emit.decompositions import decomposes
from ingot.passes.expand import known_size

aten = torch.ops.aten


def _norm(x: Tensor, p: float) -> Tensor:
    """The p-norm along the last dim; the elements are non-negative."""
    if p == 0:
        return (x != 0).to(x.dtype).sum(-1)
    if p == math.inf:
        return x.amax(-1)
    if p == 1:
        return x.sum(-1)
    if p == 2:
        return (x * x).sum(-1).sqrt()
    return (x**p).sum(-1) ** (1 / p)


@decomposes(aten._cdist_forward.default)
def cdist(x: Tensor, y: Tensor, p: float, mode: int | None) -> Tensor:
    if x.shape[-1] == 0:
        return NotImplemented
    return _norm((x.unsqueeze(-2) - y.unsqueeze(-3)).abs(), p)


@decomposes(aten.dist.default)
def dist(x: Tensor, y: Tensor, p: float = 2.0) -> Tensor:
    return _norm((x - y).abs().reshape(-1), p)


@decomposes(aten._pdist_forward.default)
def pdist(x: Tensor, p: float = 2.0) -> Tensor:
    size = known_size(x, 0)
    if size is None or size < 2 or x.shape[1] == 0:
        return NotImplemented
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    rows, others = (torch.tensor(places) for places in zip(*pairs))
    return _norm((x.index_select(0, rows) - x.index_select(0, others)).abs(), p)


@decomposes(aten._embedding_bag.default, aten._embedding_bag_forward_only.default)
def embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False,
    mode: int = 0, sparse: bool = False, per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False, padding_idx: int = -1,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """A bag is a row of a mask over the indices. Modes: 0 sum, 1 mean, 2 max."""
    count = known_size(indices, 0)
    if count is None or count == 0 or known_size(offsets, 0) is None:
        return NotImplemented
    place = torch.arange(count)
    begin = offsets[:-1] if include_last_offset else offsets
    end = torch.cat([offsets[1:], torch.full((1,), count, dtype=offsets.dtype)])
    end = end[: begin.shape[0]]
    inside = (place >= begin.unsqueeze(1)) & (place < end.unsqueeze(1))
    bag = (place >= begin.unsqueeze(1)).to(torch.int64).sum(0) - 1
    kept = inside & (indices != padding_idx)
    size = kept.to(torch.int64).sum(1)
    rows = weight.index_select(0, indices)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if mode == 2:
        masked = torch.where(kept.unsqueeze(-1), rows, -math.inf)
        full = (size > 0).unsqueeze(1)
        return torch.where(full, masked.amax(1), 0), bag, size, masked.argmax(1)
    total = kept.to(weight.dtype) @ rows
    if mode == 1:
        total = total / size.clamp(min=1).to(weight.dtype).unsqueeze(1)
    return total, bag, size, torch.zeros_like(size)


@decomposes(aten.histc.default)
def histc(x: Tensor, bins: int = 100, low: float = 0, high: float = 0) -> Tensor:
    """Equal bounds stand for the minimum and the maximum of the input."""
    if not x.dtype.is_floating_point or x.numel() == 0:
        return NotImplemented
    flat = x.reshape(-1)
    least, largest = torch.full((), low, dtype=x.dtype), torch.full((), high, dtype=x.dtype)
    if low == high:
        least, largest = flat.amin(), flat.amax()
        flatly = least == largest
        least, largest = (
            torch.where(flatly, least - 1, least),
            torch.where(flatly, largest + 1, largest),
        )
    place = torch.floor((flat - least) / (largest - least) * bins).clamp(max=bins - 1)
    place = torch.where((flat >= least) & (flat <= largest), place, -1)
    hit = place.unsqueeze(0) == torch.arange(bins, dtype=x.dtype).unsqueeze(1)
    return hit.to(x.dtype).sum(1)
