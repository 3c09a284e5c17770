"""What is measured: a module in eval mode and the arguments that it is called with, by position."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import FlopCounterMode

Workload = tuple[nn.Module, tuple[Any, ...]]


def by_position(
    model: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Workload:
    """A module with its keyword arguments by position, or a function as a module."""
    if isinstance(model, nn.Module) and not kwargs:
        return model, tuple(args)
    return ByPosition(model, len(args), tuple(kwargs)), (*args, *kwargs.values())


class ByPosition(nn.Module):
    def __init__(self, model: Callable[..., Any], plain: int, names: tuple[str, ...]):
        super().__init__()
        self.model = model  # a submodule, if it is one
        self.plain, self.names = plain, names

    def forward(self, *args: Any) -> Any:
        named = dict(zip(self.names, args[self.plain :], strict=True))
        return self.model(*args[: self.plain], **named)


def flops(model: nn.Module, args: tuple[Any, ...]) -> int:
    """Operations in matmuls and convolutions; attention and LSTMs are decomposed to be counted."""
    with (
        torch.backends.mkldnn.flags(enabled=False),
        sdpa_kernel(SDPBackend.MATH),
        FlopCounterMode(display=False) as counter,
    ):
        model(*args)
    return counter.get_total_flops()


def leaves_of(results: Any) -> list[Any]:
    """The tensors and numbers of a model's results."""
    return [leaf for leaf in pytree.tree_leaves(results) if leaf is not None]
