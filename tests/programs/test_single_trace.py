"""Graphs traced once, without AOTAutograd, and graphs that must not be: equal to eager in
everything that can be observed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from ingot.capture import single_trace as module
from tests.programs.check import check


@torch.library.custom_op("ingot_tests::counted", mutates_args=("count",))
def counted(x: Tensor, count: Tensor) -> Tensor:
    count.add_(1)
    return x + 1


@counted.register_fake
def _(x: Tensor, count: Tensor) -> Tensor:
    return torch.empty_like(x)


def enable_grad_inside(x: Tensor, w: Tensor) -> Tensor:
    with torch.enable_grad():
        y = (x * w.detach().requires_grad_()).sum()
    return y * 2


def autocast_inside(x: Tensor, y: Tensor) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return (x @ y).float() + 1


def inference_mode_inside(x: Tensor, y: Tensor) -> Tensor:
    with torch.inference_mode():
        z = x * 2
        z.add_(y)
    return z + 1


def written_on_the_way(x: Tensor, y: Tensor) -> Tensor:
    z = x * 2
    z[1:] += y[1:]
    return z.mul_(3)


def into_a_given_result(x: Tensor, y: Tensor) -> Tensor:
    z = torch.empty_like(x)
    torch.add(x, y, out=z)
    return z * 2


def batch_statistics(x: Tensor, y: Tensor) -> Tensor:
    return F.batch_norm(x, y[0], y[1].abs(), training=True)


ONCE: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "arithmetic": lambda x, y: (x + y).relu() / 3,
    "views": lambda x, y: ((x + y).t()[1:], (x * 2).view(-1).chunk(4)),
    "two views of one value": lambda x, y: (z := x + y, z.t(), z[0]),
    "composite": lambda x, y: (F.softmax(x @ y.t(), -1), torch.einsum("ij,ij->j", x, y)),
    "random": lambda x, y: (torch.rand_like(x), F.dropout(y, 0.3), x.bernoulli(0.4)),
    "random and unused": lambda x, y: (torch.rand_like(x), x + y)[1],
    "made inside": lambda x, y: torch.arange(6.0) + torch.zeros(6) + x,
    "norms": lambda x, y: F.layer_norm(x, (6,)) + F.group_norm(y, 2),
    "methods": lambda x, y: x.add(y).sum(-1, keepdim=True).expand(6, 6).contiguous(),
    "autocast inside": autocast_inside,
    "linear algebra": lambda x, y: torch.linalg.inv(x + 9 * torch.eye(6)),
    "sorted": lambda x, y: x.sort(-1).values + y.topk(2).values.sum(),
    "a dtype": lambda x, y: (x.to(torch.float64), y.int(), x > y),
    "an input comes out": lambda x, y: (x, y + 1),
    "a constant": lambda x, y: x + torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) * y,
}
TWICE: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "an input is written": lambda x, y: x.add_(y) * 2,
    "a view of an input is written": lambda x, y: x[1:].mul_(2).sum() + y,
    "a value is written": written_on_the_way,
    "into a given result": into_a_given_result,
    "a view of an input comes out": lambda x, y: (x.t(), y + 1),
    "enable_grad inside": enable_grad_inside,
    "inference_mode inside": inference_mode_inside,
    "turned in place": lambda x, y: (x + y).t_() * 2,
    "statistics are written": batch_statistics,
    "a custom op writes": lambda x, y: counted(x, y) * y,
}


def seen(function: Callable[..., Any], *args: Any) -> list[bool]:
    """For each graph, whether it was traced once."""
    answers: list[bool] = []
    real = module.single_trace

    def noted(*given: Any) -> Any:
        answers.append((graph := real(*given)) is not None)
        return graph

    with mock.patch.object(module, "single_trace", noted), torch.no_grad():
        check(function, *args, grad=False)
    return answers


def square() -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    return torch.randn(6, 6), torch.randn(6, 6)


@pytest.mark.parametrize("name", ONCE)
def test_traced_once(name: str) -> None:
    answers = seen(ONCE[name], *square())
    assert answers and all(answers)


@pytest.mark.parametrize("name", TWICE)
def test_left_to_aot_autograd(name: str) -> None:
    assert not any(seen(TWICE[name], *square()))
