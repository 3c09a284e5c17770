"""Indexing with a 0-dim tensor: PyTorch reads its value and returns a view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.programs.check import check

FORMS: dict[str, Callable[..., Any]] = {
    "alone": lambda x, i, j: x[i] * 2,
    "beside a size": lambda x, i, j: x[i] * i.sum(),
    "second dimension": lambda x, i, j: x[:, i] + 1,
    "twice": lambda x, i, j: x[i, j].sin(),
    "behind a number": lambda x, i, j: x[1, i].cos(),
    "before a slice": lambda x, i, j: x[i, 1:3] + x[j, :2],
    "of a product": lambda x, i, j: (x @ x.mT)[j, i].exp(),
    "a copy returned": lambda x, i, j: x[i].clone(),
    "beside what it was taken from": lambda x, i, j: (y := x * 2, y[i] + 1),
    "of its own": lambda x, i, j: x[(i + j) % 4] * 2,
}


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16])
@pytest.mark.parametrize("numbers", [(0, 3), (2, -1), (-4, 1)], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str, numbers: tuple[int, int], dtype: torch.dtype) -> None:
    i, j = (torch.tensor(n, dtype=dtype) for n in numbers)
    check(FORMS[form], torch.randn(4, 4), i, j, fullgraph=False)


def test_gradients() -> None:
    x = torch.randn(4, 5, requires_grad=True)
    compiled = torch.compile(FORMS["twice"], backend="ingot")
    for i, j in ((1, 2), (-1, -5)):
        indices = torch.tensor(i), torch.tensor(j)
        (wanted,) = torch.autograd.grad(FORMS["twice"](x, *indices), x)
        (got,) = torch.autograd.grad(compiled(x, *indices), x)
        assert torch.equal(got, wanted)


def test_outside() -> None:
    compiled = torch.compile(lambda x, i: x[i] + 1, backend="ingot")
    compiled(torch.randn(4), torch.tensor(3))
    with pytest.raises(IndexError, match="out of bounds"):
        compiled(torch.randn(4), torch.tensor(4))


@pytest.mark.filterwarnings("default::ingot.errors.FallbackWarning")
def test_a_view_stays_a_view() -> None:
    def write(x: Tensor, i: Tensor) -> Tensor:
        x[i].add_(1)
        return x * 2

    def view(x: Tensor, i: Tensor) -> Tensor:
        return x[i]

    i = torch.tensor(2)
    for function in (write, view):
        x, own = torch.zeros(4, 3), torch.zeros(4, 3)
        wanted, got = function(x, i), torch.compile(function, backend="ingot")(own, i)
        assert torch.equal(got, wanted) and torch.equal(own, x)
        if function is view:
            got.add_(1)
            assert own[2].eq(1).all()
