"""In-place `_foreach` ops whose tensors share memory take one position after the other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.export import Dim

import ingot

Write = Callable[[Tensor, Tensor], None]
WRITES: dict[str, Write] = {
    "the same twice": lambda x, y: torch._foreach_tan_([x, x]),
    "the same three times": lambda x, y: torch._foreach_mul_([x, y, x, x], 2.0),
    "read by the next": lambda x, y: torch._foreach_add_([x, y], [y, x]),
    "scaled": lambda x, y: torch._foreach_add_([x, x], [y, y], alpha=3),
    "numbers": lambda x, y: torch._foreach_mul_([x, x], [2.0, 0.5]),
    "rows": lambda x, y: torch._foreach_exp_([x[0], x[:2]]),
    "apart": lambda x, y: torch._foreach_neg_([x[0], x[1], y]),
    "a view without elements": lambda x, y: torch._foreach_tan_([x[:, :0], x[:, :0]]),
    "copies": lambda x, y: torch._foreach_copy_([x, x], [y, y * 2]),
    "products": lambda x, y: torch._foreach_addcmul_([x, y], [y, x], [x, x], value=0.5),
    "of a copy": lambda x, y: torch._foreach_sin_([z := x.clone(), z]),
    "by a tensor": lambda x, y: torch._foreach_mul_([s := y[0, 0], x, x], s),
}


def check(
    compiled: Callable[..., Tensor], function: Callable[..., Tensor], shape: list[int]
) -> None:
    given = [torch.randn(shape), torch.randn(shape)]
    ours, theirs = [x.clone() for x in given], [x.clone() for x in given]
    torch.testing.assert_close(compiled(*ours), function(*theirs))
    torch.testing.assert_close(ours, theirs)


def following(name: str) -> Callable[[Tensor, Tensor], Tensor]:
    def function(x: Tensor, y: Tensor) -> Tensor:
        WRITES[name](x, y)
        return x * 2 + y

    return function


@torch.no_grad()
@pytest.mark.parametrize("auto", [False, True])
@pytest.mark.parametrize("name", WRITES)
def test_ahead(name: str, auto: bool) -> None:
    function = following(name)
    args = torch.randn(3, 4), torch.randn(3, 4)
    shapes = tuple({0: Dim.AUTO, 1: Dim.AUTO} for _ in args) if auto else None
    compiled = ingot.compile(function, args, dynamic_shapes=shapes, options={"strict": True})
    check(compiled, function, [3, 4])
    if auto:
        check(compiled, function, [5, 3])


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", WRITES)
def test_traced_by_dynamo(name: str, grad: bool) -> None:
    torch._dynamo.reset()
    function = following(name)
    compiled = torch.compile(function, backend="ingot", options={"strict": True})
    with torch.set_grad_enabled(grad):
        check(compiled, function, [3, 4])
        check(compiled, function, [5, 3])
