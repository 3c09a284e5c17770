"""Dropout that drops nothing returns its argument itself: a write to the result is a write to the
argument, and a result is the argument's memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .check import check

DROPOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "F.dropout": lambda x: F.dropout(x, 0.5, False),
    "in place": lambda x: F.dropout(x, 0.5, False, True),
    "p = 0": lambda x: F.dropout(x, 0.0, True),
    "torch.dropout": lambda x: torch.dropout(x, 0.5, False),
    "aten.dropout": lambda x: torch.ops.aten.dropout(x, 0.5, False),
    "nn.Dropout": lambda x: nn.Dropout(0.5).eval()(x),
    "alpha_dropout": lambda x: F.alpha_dropout(x, 0.5, False),
    "feature_dropout": lambda x: torch.feature_dropout(x, 0.5, False),
    "feature_alpha_dropout": lambda x: F.feature_alpha_dropout(x, 0.5, False),
    "dropout1d": lambda x: F.dropout1d(x, 0.5, False),
    "twice": lambda x: F.dropout(F.dropout(x, 0.5, False), 0.25, False),
}


def written(y: Tensor, x: Tensor) -> Any:
    y.mul_(2)
    return x + 1


def written_in_part(y: Tensor, x: Tensor) -> Any:
    y[0].zero_()
    return y, x * 2


USES: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "written": written,
    "written in part": written_in_part,
    "returned": lambda y, x: y,
    "a view returned": lambda y, x: y.view(-1),
    "read": lambda y, x: (y * 2, x + y),
}


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("dropout", DROPOUTS)
def test_of_an_input(dropout: str, use: str, dynamic: bool) -> None:
    check(lambda x: USES[use](DROPOUTS[dropout](x), x), torch.randn(2, 3, 4), dynamic=dynamic)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("dropout", DROPOUTS)
def test_of_an_intermediate_with_gradients(dropout: str, use: str) -> None:
    def function(x: Tensor) -> Any:
        z = x * 2
        return USES[use](DROPOUTS[dropout](z), z)

    check(function, torch.randn(2, 3, 4, requires_grad=True), grad=True)


def test_active_dropout_is_unchanged() -> None:
    def function(x: Tensor) -> Tensor:
        y = F.dropout(x, 0.5, True)
        y.mul_(2)
        return y + x

    check(function, torch.randn(2, 3, 4))
    check(function, torch.randn(2, 3, 4, requires_grad=True), grad=True)
