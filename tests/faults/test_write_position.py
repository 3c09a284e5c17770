"""The line of a runner up to which nothing was written, from which no call is repeated."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import ingot


def draws(x: Tensor) -> Tensor:
    """A native segment, which borrows a workspace, comes before the random op."""
    return torch.rand_like((x @ x).softmax(-1).exp().nonzero().float())


def writes(x: Tensor) -> Tensor:
    x.mul_(2)
    return x + 1


def pure(x: Tensor) -> Tensor:
    return x.exp().sum()


@pytest.mark.parametrize(
    ("program", "shown"),
    [(draws, "= op"), (writes, "error = launch"), (pure, "return [")],
    ids=["draws", "writes", "pure"],
)
def test_line(program: Callable[[Tensor], Tensor], shown: str) -> None:
    with torch.no_grad():
        compiled = ingot.compile(program, (torch.randn(4, 4),), options={"strict": True}).compiled
    lines = compiled.source.splitlines()
    position = compiled.run.__globals__["first_write"]
    assert lines[1] == "    try:"
    assert shown in lines[position - 1]
    behind = [line.strip() for line in lines[position:]]
    assert (behind[0] == "except Exception as failure:") == (program is pure)
