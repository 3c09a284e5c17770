"""`out=` arguments without elements, which the op resizes: the functional op is that of the same
overload."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import ingot

OUT: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "clamp": lambda x, out: torch.clamp(x, x * 0, out=out),
    "clamp by numbers": lambda x, out: torch.clamp(x, -0.5, 0.5, out=out),
    "clip": lambda x, out: torch.clip(x, x * 0, out=out),
    "clamp_min": lambda x, out: torch.clamp_min(x, x * 0, out=out),
    "pow": lambda x, out: torch.pow(x, 2.0, out=out),
    "pow of a number": lambda x, out: torch.pow(2.0, x, out=out),
    "power": lambda x, out: torch.float_power(x, 2.0, out=out),
    "equal": lambda x, out: torch.eq(x, 2.0, out=out),
    "less": lambda x, out: torch.lt(x, x * 2, out=out),
    "xlog1py": lambda x, out: torch.special.xlog1py(x, 2.0, out=out),
    "xlog1py of a number": lambda x, out: torch.special.xlog1py(2.0, x.abs(), out=out),
    "zeta": lambda x, out: torch.special.zeta(x.abs() + 2, 2.0, out=out),
    "linspace": lambda x, out: torch.linspace(0, 1, 5, out=out),
    "linspace of tensors": lambda x, out: torch.linspace(x[0, 0], x[0, 1], 5, out=out),
    "logspace": lambda x, out: torch.logspace(0, 1, 5, out=out),
    "arange": lambda x, out: torch.arange(3, out=out),
    "remainder": lambda x, out: torch.remainder(x, 0.3, out=out),
    "fmod": lambda x, out: torch.fmod(x, 0.3, out=out),
    "sum": lambda x, out: torch.sum(x, 0, out=out),
    "cat": lambda x, out: torch.cat([x, x], out=out),
}


@torch.no_grad()
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("name", OUT)
def test_out_arguments_that_are_resized(name: str) -> None:
    """Overloads for numbers and for tensors have arguments of one name."""
    dtype = torch.bool if name in ("equal", "less") else torch.float32
    dtype = torch.float64 if name == "power" else dtype

    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        out = torch.empty(0, dtype=dtype)
        return OUT[name](x, out), out.clone()

    x = torch.rand(3, 4)
    compiled = ingot.compile(function, (x,), options={"strict": True})
    torch.testing.assert_close(compiled(x), function(x))
