"""A user-defined backward. `custom_gradient(body, places, inputs, outs, saved, captured)` returns
`outs`, computed from `inputs` under no_grad, with a history whose backward is `body`: a graph that
takes (*saved, *gradients of outs, *captured) and returns gradients. `places` has for each input the
index of its gradient, or -1. Nothing is recorded if grad is disabled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._ops import HigherOrderOperator, _get_dispatch_mode_pre_dispatch

Body = Callable[..., Sequence[Any]]


class CustomGradient(HigherOrderOperator):
    def __init__(self) -> None:
        super().__init__("ingot_custom_gradient")  # type: ignore[no-untyped-call]

    def __call__(
        self,
        body: Body,
        places: Sequence[int],
        inputs: Sequence[Tensor],
        outs: Sequence[Tensor],
        saved: Sequence[Any],
        captured: Sequence[Any] = (),
    ) -> Sequence[Tensor]:
        if is_tracing():
            return super().__call__(body, places, inputs, outs, saved, captured)  # type: ignore[no-untyped-call]
        # In a list, so that autograd does not take the results for inputs.
        given = body, places, list(outs), len(saved), len(captured)
        results: Sequence[Tensor] = _History.apply(*given, *inputs, *saved, *captured)  # type: ignore[no-untyped-call]
        return results


class _History(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, body: Body, places: Any, outs: Any, saved: int, captured: int, *tensors: Any
    ) -> Any:
        ctx.body, ctx.places, ctx.counts = body, places, (saved, captured)
        ctx.save_for_backward(*tensors[len(places) :])
        return tuple(outs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        saved, captured = ctx.counts
        kept = ctx.saved_tensors
        results = ctx.body(*kept[:saved], *grads, *kept[saved:])
        own = [results[place] if place >= 0 else None for place in ctx.places]
        return None, None, None, None, None, *own, *(None for _ in range(saved + captured))


custom_gradient = CustomGradient()


def is_tracing() -> bool:
    """Whether a pre-dispatch program is being traced."""
    return _get_dispatch_mode_pre_dispatch(torch._C._TorchDispatchModeKey.PROXY) is not None
