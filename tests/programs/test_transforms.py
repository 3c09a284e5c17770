"""torch.func transforms inside compiled functions: correct, or an error with a hint, and the state
of the thread is restored."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import ingot

FUNCTIONS: dict[str, Callable[[Tensor], Any]] = {
    "grad": lambda x: torch.func.grad(lambda y: (y**3).sum())(x),
    "jacrev": lambda x: torch.func.jacrev(lambda y: (y**3).sum(0))(x),
    "jacfwd": lambda x: torch.func.jacfwd(lambda y: (y**3).sum(0))(x),
    "hessian": lambda x: torch.func.hessian(lambda y: (y**3).sum())(x),
    "vjp": lambda x: torch.func.vjp(lambda y: y**3, x)[1](x)[0],
    "jvp": lambda x: torch.func.jvp(lambda y: y**3, (x,), (x,))[1],
    "vmap": lambda x: torch.vmap(lambda y: y.sin().sum())(x),
    "grad under vmap": lambda x: torch.vmap(torch.func.grad(lambda y: y.sin().sum()))(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_ahead_of_time(name: str) -> None:
    function, x = FUNCTIONS[name], torch.randn(4, 4)
    try:
        compiled = ingot.compile(function, (x,))
    except ingot.CaptureError as error:
        assert name != "vmap"
        if name in ("grad", "jacrev", "vjp"):
            assert "torch.func" in str(error)
            assert 'torch.compile(backend="ingot")' in str(error)
            assert str(error).count(error.headline) == 1
    else:
        torch.testing.assert_close(compiled(x), function(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ingot.FallbackWarning)
        assert torch.equal(ingot.compile(lambda x: x * 2, (x,))(x), x * 2)
        torch._dynamo.reset()
        through_dynamo = torch.compile(function, backend="ingot")
        torch.testing.assert_close(through_dynamo(x), function(x))
