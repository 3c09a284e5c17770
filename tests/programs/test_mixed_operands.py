"""Losses and binary ops of two dtypes, with 0-dim operands: the dtype and the values of the result
are eager's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import ingot

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
LOSSES: list[Callable[..., Tensor]] = [
    F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.kl_div, F.poisson_nll_loss,
    F.soft_margin_loss, F.binary_cross_entropy_with_logits,
]  # fmt: skip
BINARY: list[Callable[..., Tensor]] = [
    torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.minimum, torch.fmax,
    torch.fmin, torch.pow, torch.atan2, torch.fmod, torch.remainder, torch.hypot, torch.copysign,
    torch.floor_divide, torch.logaddexp, torch.logaddexp2, torch.xlogy, torch.special.xlog1py,
    torch.clamp, torch.clamp_min, torch.clamp_max, torch.eq, torch.less,
]  # fmt: skip
OPS: dict[str, Callable[..., Tensor]] = {
    **{f.__name__: f for f in BINARY},
    **{
        f"{f.__name__} {r}": partial(f, reduction=r)
        for f in LOSSES
        for r in ("none", "mean", "sum")
    },
    "where": lambda x, y: torch.where(x > 0.5, x, y),
    "addcmul": lambda x, y: torch.addcmul(x, y, x),
    "addcdiv": lambda x, y: torch.addcdiv(x, x, y),
}
FEW = ("add", "pow", "mse_loss mean", "huber_loss none", "huber_loss mean", "where")
NAMES = [n if n in FEW else pytest.param(n, marks=pytest.mark.slow) for n in OPS]
TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 1e-5}


def operands() -> list[tuple[Tensor, Tensor]]:
    torch.manual_seed(0)
    found = []
    for a, b in product(DTYPES, DTYPES):
        x, y = (torch.rand(5) * 0.8 + 0.1).to(a), (torch.rand(5) * 0.8 + 0.1).to(b)
        found += [(x, y), (x, y[0]), (x[0], y), (x[0], y[0])]
    return found


def eager(op: Callable[..., Any], x: Tensor, y: Tensor) -> Any:
    try:
        return op(x, y)
    except (RuntimeError, ValueError):
        return None


@torch.no_grad()
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_dtypes_and_values(name: str) -> None:
    op = OPS[name]
    pairs = [(x, y) for x, y in operands() if eager(op, x, y) is not None]
    assert pairs

    def everything(*args: Tensor) -> list[Tensor]:
        return [op(x, y) for x, y in zip(args[::2], args[1::2], strict=True)]

    flat = tuple(x for pair in pairs for x in pair)
    compiled = ingot.compile(everything, flat, options={"strict": True})
    for (x, y), got in zip(pairs, compiled(*flat), strict=True):
        want = op(x, y)
        assert (got.dtype, got.shape) == (want.dtype, want.shape), (x, y)
        rtol = TOLERANCE.get(want.dtype, 1e-7)
        torch.testing.assert_close(got, want, rtol=rtol, atol=rtol / 10)
