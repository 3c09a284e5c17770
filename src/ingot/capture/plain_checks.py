"""Linear algebra checks as plain calls. PyTorch orders the op that raises for a singular matrix by
effect tokens, which a Program does not have. Here the call keeps its position because it has a side
effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch._higher_order_ops import effects
from torch.fx.node import has_side_effect

CHECK = torch.ops.aten._linalg_check_errors.default

has_side_effect(CHECK)


@contextmanager
def plain_checks() -> Iterator[None]:
    """Active while a program is traced."""
    holder = torch._library.simple_registry.singleton.find(effects._get_op_qualname(CHECK)).effect
    before = holder.effect
    holder.register(None)
    try:
        yield
    finally:
        holder.register(before)
