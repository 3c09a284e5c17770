"""Autograd functions with a user-defined backward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .cases import case


class _Steep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.slope = slope
        return x.sin()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grads[0] * ctx.slope * x, None


class _Exponential(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.exp().add_(1)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        grad = grads[0] * 2
        grad.mul_(ctx.saved_tensors[0])
        return grad


class _Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return -grads[0]


class _Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Any:
        whole = (x / scale).round()
        ctx.mark_non_differentiable(whole)
        ctx.set_materialize_grads(False)
        ctx.scale = scale
        return whole * scale, whole, x > 0

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * 3, (grads[0] * ctx.scale).sum(0) if ctx.needs_input_grad[1] else None


@case((3, 4))
def autograd_functions(x: Tensor) -> Any:
    y = _Steep.apply(x * 2, 10.0)
    return _Exponential.apply(y) + _Reversed.apply(x)


@case((3, 4), (4,))
def autograd_function_with_several_results(x: Tensor, scale: Tensor) -> Any:
    near, whole, positive = _Rounded.apply(x, scale)
    return near * 2, whole, positive


@case((3, 4))
def autograd_function_result_is_written(x: Tensor) -> Any:
    y = _Steep.apply(x, 3.0)
    y[1:].mul_(2)
    with torch.no_grad():
        z = _Steep.apply(x, 5.0)
        y.add_(z)
    return y, z


@case((3, 4))
def autograd_function_under_autocast(x: Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = _Steep.apply(x @ x.t(), 2.0)
    return y @ y


@case((3, 4))
class AutogradFunctionOfAParameter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4))

    def forward(self, x: Tensor) -> Any:
        return _Rounded.apply(x, self.weight)[0] + _Steep.apply(self.weight, 0.5)
