"""Norms that compute their own statistics, by PyTorch's decompositions with two differences: a
variance that overflowed is NaN (`unless_overflown`), and a batch norm's result has the strides its
kernel writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decomposition_table as of_pytorch
from torch._ops import OpOverload
from torch.overrides import TorchFunctionMode

from ingot.passes.decompositions import decomposes, overload
from ingot.passes.decompositions.layouts import in_the_format_of
from ingot.passes.decompositions.norms import all_dims, moments, unless_overflown

BATCH_NORMS = (
    "native_batch_norm",
    "_native_batch_norm_legit_functional",
    "_batch_norm_with_update_functional",
)
OTHERS = ("native_group_norm", "_native_batch_norm_legit.no_stats")


class _NanForOverflow(TorchFunctionMode):
    """These decompositions take the root of a variance and of nothing else. Unlike `var_mean`
    itself, they compute it in the dtype of their argument."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.rsqrt:
            args = (unless_overflown(args[0]),)
        if func is torch.var_mean:
            return _biased_moments(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _biased_moments(
    x: Tensor,
    dim: Sequence[int],
    unbiased: bool = False,
    *,
    correction: int = 0,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]:
    assert not unbiased and correction == 0 and keepdim
    return moments(x, all_dims(x, dim), 0, True)


def _by_pytorch(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    with _NanForOverflow():
        return of_pytorch[op](*args, **kwargs)


def _batch_norm(op: OpOverload, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    out, *statistics = _by_pytorch(op, x, *args, **kwargs)
    return in_the_format_of(x, out), *statistics


for name in BATCH_NORMS:
    decomposes(name)(partial(_batch_norm, overload(name)))
for name in OTHERS:
    decomposes(name)(partial(_by_pytorch, overload(name)))
