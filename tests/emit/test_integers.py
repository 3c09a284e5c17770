"""64-bit integers keep 64 bits in every dialect; TOSA's are narrowed where they provably fit."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import ingot

LARGE = 5_000_000_000
X, Y = torch.tensor([LARGE, -LARGE, 7, -3]), torch.tensor([3, LARGE - 1, -2, 5])

PROGRAMS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sums": lambda x, y: (x + y) - 2 * x + 6_000_000_000 + torch.rsub(x, y, alpha=3),
    "products": lambda x, y: x * y - x.abs() * -y,
    "divisions": lambda x, y: x // y + x % y + torch.div(x, y, rounding_mode="trunc") + x % 7,
    "reductions": lambda x, y: x.sum() + x.cumsum(0) + x.amax(0) + y.prod(),
    "choices": lambda x, y: torch.where(x > y, x, y) + x.clamp(-LARGE + 1, 9) + x.relu(),
    "bits": lambda x, y: (x & y) + (x | y) + (x ^ y) + ~x + (x << 2) + (x >> 3),
    "powers": lambda x, y: (x // 100_000) ** 2,
    "broadcast": lambda x, y: x.reshape(4, 1) + y,
}


@pytest.mark.parametrize("dialect", ["linalg", "tosa", "stablehlo"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_bits_are_lost(name: str, dialect: str) -> None:
    ingot.export(PROGRAMS[name], (X, Y)).verify(dialect, (X, Y))


def test_sums_that_fit_are_narrow_and_others_wide() -> None:
    table = torch.randn(40)

    def positions(x: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        return x[torch.arange(8) * 3 + 2], ids + 2

    program = ingot.export(positions, (table, X))
    text = program.to_mlir("tosa").text
    assert "tensor<8xi32>, tensor<1xi32>) -> tensor<8xi32>" in text, "proven from the shape"
    assert "tensor<4xi64>, tensor<1xi64>) -> tensor<4xi64>" in text, "nothing is known of ids"
    program.verify("tosa", (table, X))


def test_integers_are_put_in_order() -> None:
    ingot.export(lambda x: x.sort(), (X,)).verify("tosa", (X,))
