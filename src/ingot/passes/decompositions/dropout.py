"""Dropout without random numbers. With p = 1 eager generates none. Inactive, it returns its
argument itself, so that a write to the result is a write to the argument; PyTorch's decomposition
copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._C import DispatchKey

from ingot.exclusive import only_here
from ingot.passes.decompositions import decomposes


@decomposes("native_dropout")
def native_dropout(x: torch.Tensor, p: float, train: bool | None) -> Any:
    """Eager multiplies every element by zero, so a NaN stays NaN."""
    if train is False or p != 1:
        return NotImplemented
    return x * 0, torch.zeros_like(x, dtype=torch.bool)


@contextmanager
def inactive_dropout() -> Iterator[None]:
    """Within the context, inactive dropout is traced as its argument by this thread."""
    op = torch.ops.aten.dropout.default
    keys = (DispatchKey.CompositeImplicitAutograd, DispatchKey.Autograd)
    usual = {key: op.py_kernels[key] for key in keys}

    def dropout(x: torch.Tensor, p: float, train: bool | None) -> Any:
        if not train or p == 0:
            return x
        return usual[DispatchKey.Autograd](x, p, train)

    op.py_kernels.update({key: only_here(dropout, kernel) for key, kernel in usual.items()})
    op._dispatch_cache.clear()
    try:
        yield
    finally:
        op.py_kernels.update(usual)
        op._dispatch_cache.clear()
