"""Gradients of mixed dtypes. PyTorch's meta kernels and decompositions of some backward ops return
the gradient's dtype. The kernels promote, and return the common dtype or the input's. Operands of
one dtype are left to the op's rule or to PyTorch's decomposition.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decomposition_table as of_pytorch
from torch._ops import OpOverload

from ingot.passes.decompositions import decomposes, overload
from ingot.passes.decompositions.norms import narrow

aten = torch.ops.aten
LIKE_INPUT = ("mse_loss_backward", "smooth_l1_loss_backward")
"""Kernels that write into a tensor like the input, whatever the gradient's dtype."""


def _promoted(args: Any) -> list[Any]:
    dtypes = [a.dtype for a in args if isinstance(a, Tensor)]
    common = reduce(torch.promote_types, dtypes)
    return [narrow(a, common) if isinstance(a, Tensor) else a for a in args]


def _are_mixed(*tensors: Tensor) -> bool:
    return any(t.dtype != tensors[0].dtype for t in tensors)


@decomposes("threshold_backward")
def threshold_backward(grad: Tensor, x: Tensor, threshold: Any) -> Tensor:
    if not _are_mixed(grad, x):
        return NotImplemented
    result: Tensor = aten.threshold_backward(*_promoted((grad, x)), threshold)
    return result


def _like_input(op: OpOverload, grad: Tensor, x: Tensor, *args: Any) -> Any:
    if not x.dtype.is_floating_point:
        return NotImplemented
    if not _are_mixed(grad, x):
        return of_pytorch[op](grad, x, *args)
    return narrow(op(*_promoted((grad, x, *args))), x.dtype)


@decomposes("_prelu_kernel_backward")
def prelu_backward(grad: Tensor, x: Tensor, weight: Tensor) -> Any:
    """Both results have the broadcast shape of the operands."""
    if x.dim() < weight.dim():
        return NotImplemented
    return of_pytorch[aten._prelu_kernel_backward.default](grad, x, weight)


for name in LIKE_INPUT:
    decomposes(name)(partial(_like_input, overload(name)))
