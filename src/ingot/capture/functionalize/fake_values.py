"""Fake tensors as inputs and results of control flow: in memory of their own, with eager's layout,
and with a history if they may have one.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree


def like(val: Tensor) -> Tensor:
    """A tensor of the same type in memory of its own."""
    if val.layout is not torch.strided:
        return val.detach().clone()
    with torch.no_grad():
        return torch.empty_strided(val.shape, val.stride(), dtype=val.dtype, device=val.device)


class _Result(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, leaf: Tensor, val: Tensor) -> Tensor:
        return like(val)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise AssertionError("fake tensors are not differentiated")


def with_history(val: Tensor) -> Tensor:
    """A tensor of the same type that is the result of something autograd recorded."""
    if not (val.is_floating_point() or val.is_complex()):
        return like(val)
    with torch.enable_grad():
        result: Tensor = _Result.apply(  # type: ignore[no-untyped-call]
            torch.empty(1, requires_grad=True), val
        )
    return result


def fresh_result(val: Any) -> Any:
    """The value with each tensor in memory of its own, and with a history if it requires grad."""
    return pytree.tree_map_only(
        Tensor, lambda t: with_history(t) if t.requires_grad else like(t), val
    )
