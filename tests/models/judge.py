"""Compares an eager model with its compiled form: outputs, or the loss and all gradients of a
training step. Errors are measured against the same model in float64; ingot's may be a few times
eager's.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from ingot import observe
from ingot.stages import Compiled

FARTHER_THAN_EAGER = 4.0
SLACK = 2e-6
"""Relative to the largest element of a tensor: float32 rounding of sums that eager may happen not
to have."""

Call = Callable[[nn.Module], list[Tensor]]


def compare(model: nn.Module, call: Call, **settings: Any) -> list[Compiled]:
    """`call` returns the tensors to compare, from the model or its compiled form."""
    heard: list[Compiled] = []
    wide = widened(call, copy.deepcopy(model).double())
    eager = call(copy.deepcopy(model))
    fresh = copy.deepcopy(model)
    with observe.listening(heard.append):
        compiled: Any = torch.compile(fresh, backend="ingot", options={"strict": True}, **settings)
        got = call(compiled)
    assert len(got) == len(eager) == len(wide)
    for i, (tensor, want, truth) in enumerate(zip(got, eager, wide, strict=True)):
        assert_near(tensor, want, truth, f"tensor {i} of {len(got)}")
    assert heard, "nothing was compiled"
    return heard


def widened(call: Call, model: nn.Module) -> list[Tensor]:
    """The reference: the same call with all float32 inputs in float64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return call(model)
    finally:
        torch.set_default_dtype(before)


def assert_near(
    got: Tensor, eager: Tensor, truth: Tensor, label: str, scale: float | None = None
) -> None:
    """The slack is relative to `scale`, by default the largest element of the reference."""
    assert got.shape == eager.shape, f"{label}: {got.shape}, eager's is {eager.shape}"
    assert got.dtype == eager.dtype, f"{label}: {got.dtype}, eager's is {eager.dtype}"
    if not eager.dtype.is_floating_point:
        assert torch.equal(got, eager), f"{label}: integers differ"
        return
    got, eager = got.double(), eager.double()
    assert torch.equal(got.isfinite(), eager.isfinite()), f"{label}: other infinities or NaNs"
    finite = eager.isfinite() & truth.isfinite()
    if scale is None:
        scale = truth[finite].abs().max().item() if finite.any() else 0.0
    own = (got - truth)[finite].abs().max().item() if finite.any() else 0.0
    eagers = (eager - truth)[finite].abs().max().item() if finite.any() else 0.0
    allowed = FARTHER_THAN_EAGER * eagers + SLACK * scale
    assert own <= allowed, (
        f"{label} {tuple(got.shape)}: {own:.3g} from the truth, eager {eagers:.3g}, "
        f"the largest number is {scale:.3g}"
    )


def as_default(arguments: Any) -> Any:
    """Floating-point tensors in the default dtype, so that one call serves float32 and float64."""

    def convert(leaf: Any) -> Any:
        if isinstance(leaf, Tensor) and leaf.dtype.is_floating_point:
            return leaf.to(torch.get_default_dtype())
        return leaf

    return pytree.tree_map(convert, arguments)


def training_step(loss_of: Callable[[nn.Module], Tensor], model: nn.Module) -> list[Tensor]:
    """The loss, the gradients of all parameters, and the buffers afterwards."""
    loss = loss_of(model)
    loss.backward()
    plain = getattr(model, "_orig_mod", model)
    grads = [p.grad for p in plain.parameters() if p.grad is not None]
    return [loss.detach(), *grads, *plain.buffers()]
