"""Checks of linear algebra as plain calls. PyTorch orders what raises for a singular matrix by
tokens, which a Program has no place for; here the call stays where it is, because it has a side
effect, and needs none.
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
    """While a program is traced."""
    holder = torch._library.simple_registry.singleton.find(effects._get_op_qualname(CHECK)).effect
    before = holder.effect
    holder.register(None)
    try:
        yield
    finally:
        holder.register(before)
