"""Losses. mse_loss rounds to half precision once, as its kernel does. The backward of nll_loss
avoids scatter: it finds the one element touched per row by comparing with the class indices, so
that it fuses with the log-softmax backward after it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch._decomp import decomposition_table as of_pytorch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from ingot.passes.decompositions import decomposes
from ingot.passes.decompositions.norms import narrow, widen

aten = torch.ops.aten
NONE, MEAN, SUM = 0, 1, 2


@decomposes("mse_loss")
def mse_loss(x: Tensor, target: Tensor, reduction: int = MEAN) -> Tensor:
    if not x.dtype.is_floating_point or x.dtype != target.dtype:
        return NotImplemented
    difference = aten.sub.Tensor(widen(x), widen(target))
    loss = narrow(aten.mul.Tensor(difference, difference), x.dtype)
    return _reduced(loss, reduction)


@decomposes("huber_loss")
def huber_loss(x: Tensor, target: Tensor, reduction: int = MEAN, delta: float = 1.0) -> Tensor:
    """Computed in the common dtype; the result has the input's, whatever the target's is."""
    if x.dtype == target.dtype:
        return of_pytorch[aten.huber_loss.default](x, target, reduction, delta)
    common = torch.result_type(x, target)
    operands = narrow(x, common), narrow(target, common)
    loss = of_pytorch[aten.huber_loss.default](*operands, NONE, delta)
    return _reduced(narrow(loss, x.dtype), reduction)


def _reduced(loss: Tensor, reduction: int) -> Tensor:
    if reduction == MEAN:
        return aten.mean(loss)
    return aten.sum.dim_IntList(loss, list(range(loss.dim()))) if reduction == SUM else loss


def _target_of(x: Tensor, target: Tensor) -> Tensor:
    """A single sample has one target. The kernels accept as many targets as classes and read the
    first."""
    return aten.select.int(target, 0, 0) if x.dim() < 2 and target.dim() else target


def _has_no_target(x: Tensor, target: Tensor) -> bool:
    return x.dim() < 2 and target.dim() > 0 and statically_known_true(target.shape[0] == 0)


@decomposes("nll_loss_forward")
def nll_loss_forward(x: Tensor, target: Tensor, *args: Any) -> Any:
    if _has_no_target(x, target):
        return NotImplemented
    return of_pytorch[aten.nll_loss_forward.default](x, _target_of(x, target), *args)


@decomposes("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward(
    grad: Tensor,
    x: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: Any,
    total_weight: Tensor,
) -> Tensor:
    if _has_no_target(x, target):
        return NotImplemented
    channel = 0 if x.dim() < 2 else 1
    if reduction == MEAN:
        grad = aten.div.Tensor(grad, total_weight)
    target = aten.unsqueeze(_target_of(x, target), channel)
    if x.dim() < 2:
        grad = aten.view(grad, [1])
    if x.dim() > grad.dim() > 0:
        grad = aten.unsqueeze(grad, channel)
    along_channel = [1] * x.dim()
    along_channel[channel] = x.shape[channel]
    if weight is not None:
        grad = aten.mul.Tensor(grad, aten.view(weight, along_channel))
    classes = aten.view(
        aten.arange.start_step(0, x.shape[channel], 1, dtype=target.dtype, device=x.device),
        along_channel,
    )
    chosen = aten.bitwise_and.Tensor(
        aten.eq.Tensor(classes, target), aten.ne.Scalar(target, ignore_index)
    )
    # An ignored row is 0 even if total_weight is 0 and grad NaN. So is every other class of a row
    # that is not ignored, but there eager multiplies 0 by grad, which propagates NaN.
    zero = aten.scalar_tensor(0, dtype=x.dtype, device=x.device)
    others = aten.where.self(aten.ne.Scalar(target, ignore_index), aten.mul.Scalar(grad, 0), zero)
    return aten.where.self(chosen, aten.neg(grad), others)
