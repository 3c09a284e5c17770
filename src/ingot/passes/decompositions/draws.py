"""Random numbers in eager's order. Functionalization gives `bernoulli_` and `bernoulli` the same
form, though the one draws along the memory that it writes and the other along the shape. What
holds: capture/draws.py sees to it that what is drawn along the shape has a contiguous argument, and
no argument is out of order afterwards.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload

from ingot.passes.decompositions import Decomposition, decomposes
from ingot.passes.decompositions.layouts import dimension_order

aten = torch.ops.aten


@decomposes("bernoulli.p")
def bernoulli(x: Tensor, p: float = 0.5, *, generator: Any = None) -> Any:
    order = dimension_order([x], x.dim())
    if order == sorted(order):
        return NotImplemented
    drawn = aten.bernoulli.p(aten.permute(x, order), p, generator=generator)
    return aten.permute(drawn, [order.index(dim) for dim in range(x.dim())])


draws_in_order: dict[OpOverload, Decomposition] = {aten.bernoulli.p: bernoulli}
"""For every level: this is about what a program means."""
