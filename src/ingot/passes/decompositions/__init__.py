"""Our own decompositions, for ops whose decomposition in PyTorch is missing or unsuitable. Each
takes the ATen op's arguments and calls smaller ATen ops while AOTAutograd traces. It may return
NotImplemented, and the op stays whole. Registering an op twice raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload

from ingot.foreign_rules import note_registration

Decomposition = Callable[..., Any]

own_decompositions: dict[OpOverload, Decomposition] = {}


def overload(name: str) -> OpOverload:
    """The ATen overload "add.Tensor"; without a dot, the default one."""
    op, _, variant = name.partition(".")
    found = getattr(getattr(torch.ops.aten, op), variant or "default")
    assert isinstance(found, OpOverload)
    return found


def decomposes(*names: str) -> Callable[[Decomposition], Decomposition]:
    def register(function: Decomposition) -> Decomposition:
        for name in names:
            if (op := overload(name)) in own_decompositions:
                raise ValueError(f"a decomposition of {name} is registered already")
            note_registration(op, function)
            own_decompositions[op] = function
        return function

    return register
