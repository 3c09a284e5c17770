"""Programs without gradients: inputs whose fake tensors ingot creates itself, and norms decomposed
after AOTAutograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ingot.capture.fakes import _apart, _is_plain

Case = tuple[Callable[..., Any], Callable[[], tuple[Tensor, ...]]]


def write_to_a_base(x: Tensor, view: Tensor) -> Tensor:
    x.add_(1)
    return view * 2


def shared_memory() -> tuple[Tensor, ...]:
    x = torch.randn(4, 6)
    return x, x[1:]


def without_a_base() -> tuple[Tensor, ...]:
    x = torch.randn(4, 6)
    return x, x.data


def part_of_memory() -> tuple[Tensor, ...]:
    return torch.randn(8, 6)[2:6].data, torch.randn(6, 4).t()


CASES: dict[str, Case] = {
    "a view of a written input": (write_to_a_base, shared_memory),
    "the memory of a written input": (write_to_a_base, without_a_base),
    "part of a memory, transposed": (
        lambda x, y: (x + y).as_strided((2, 3), (3, 1)),
        part_of_memory,
    ),
    "integers and a number": (
        lambda x, y: x[y] * y.sum(),
        lambda: (torch.randn(5), torch.tensor(3)),
    ),
    "nothing": (lambda x: x * 2, lambda: (torch.empty(0, 3),)),
}


@pytest.mark.parametrize("name", CASES)
def test_inputs(name: str) -> None:
    function, make = CASES[name]
    torch.manual_seed(0)
    inputs = make()
    torch.manual_seed(0)
    own = make()
    with torch.no_grad():
        expected = function(*inputs)
        actual = torch.compile(function, backend="ingot", dynamic=False)(*own)
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(own, inputs)


class Norms(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LayerNorm(12)
        self.first, self.second = nn.Linear(12, 12), nn.Linear(12, 12)
        self.second.weight = self.first.weight
        self.batch = nn.BatchNorm1d(12)

    def forward(self, x: Tensor) -> Tensor:
        for linear in (self.first, self.second):
            x = self.layer(x + linear(x).softmax(-1))
        return self.batch(x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_norms(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    model, x = Norms().eval().to(dtype), torch.randn(5, 12).to(dtype)
    with torch.no_grad():
        actual = torch.compile(model, backend="ingot")(x)
        tolerance = {"rtol": 2e-2, "atol": 2e-2} if dtype is torch.bfloat16 else {}
        torch.testing.assert_close(actual, model(x), **tolerance)


def test_what_is_left_to_pytorch() -> None:
    x = torch.randn(4, 6)
    assert _is_plain(x) and _is_plain(nn.Parameter(x.clone()))
    others = [x[1:], x.t(), x[1:].data, torch.view_as_complex(torch.randn(3, 2)).imag, 3]
    assert not any(_is_plain(each) for each in others)
    assert _apart([x, x.clone()])
    assert not _apart([x, x.data])
    assert not _apart([x.to_sparse()])
