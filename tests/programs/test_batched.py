"""Matmuls of two activations, against eager in f64."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import ingot
from ingot.kernels.batched_matmul.claim import Batch, batch_of
from ingot.kernels.batched_matmul.family import BatchedMatmul
from ingot.runtime.executable import Executable
from tests.plans import native_call_nodes

SIZES = [
    (1, 1, 1, 1), (3, 7, 17, 5), (2, 6, 16, 256), (4, 13, 48, 300), (9, 9, 9, 64), (1, 30, 1, 40),
    (2, 1, 33, 700),
]  # fmt: skip
"""Batch, m, n, k."""


def product(a: Tensor, b: Tensor) -> Tensor:
    return torch.matmul(a * 2, b) + 1


def check(a: Tensor, b: Tensor, tolerance: float = 5e-5) -> Executable:
    compiled = ingot.compile(product, (a, b), options={"strict": True})
    result, truth = compiled(a, b), product(a.double(), b.double())
    torch.testing.assert_close(
        result.double(), truth, rtol=tolerance, atol=tolerance, equal_nan=True
    )
    return compiled


def native(compiled: Executable) -> list[Batch]:
    nodes = native_call_nodes(compiled.compiled)
    calls = [node for node in nodes if node.target in BatchedMatmul.targets]
    return [batch for node in calls if isinstance(batch := batch_of(node), Batch)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("turned", [False, True])
def test_it_is_eagers(sizes: tuple[int, int, int, int], turned: bool) -> None:
    torch.manual_seed(0)
    matrices, m, n, k = sizes
    b = torch.randn(matrices, n, k).transpose(1, 2) if turned else torch.randn(matrices, k, n)
    assert len(native(check(torch.randn(matrices, m, k), b))) == 1


def test_two_matrices() -> None:
    assert len(native(check(torch.randn(20, 40), torch.randn(40, 25)))) == 1


def test_strided_factors() -> None:
    check(torch.randn(4, 20, 40)[:, ::2], torch.randn(4, 40, 60)[:, :, 5:38])
    check(torch.randn(4, 20, 40)[:1].expand(4, 20, 40), torch.randn(40, 4, 30).transpose(0, 1))


def test_double() -> None:
    a, b = torch.randn(3, 7, 30).double(), torch.randn(3, 30, 11).double()
    assert len(native(check(a, b, 1e-13))) == 1


def test_not_a_number_and_infinity() -> None:
    a, b = torch.randn(2, 7, 30), torch.randn(2, 30, 19)
    a[0, 2, 3], b[1, 4, 5], b[0, 6, 7] = float("nan"), float("inf"), -float("inf")
    check(a, b)


ADDENDS: dict[str, tuple[int, ...]] = {
    "whole": (3, 7, 33), "matrix": (7, 33), "row": (33,), "rows": (3, 1, 33), "one": (1, 7, 33),
}  # fmt: skip


@pytest.mark.parametrize("name", ADDENDS)
@pytest.mark.parametrize("inner", [5, 600])
def test_an_addend(name: str, inner: int) -> None:
    args = (torch.randn(ADDENDS[name]), torch.randn(3, 7, inner), torch.randn(3, inner, 33))
    assert added(torch.baddbmm, *args) == 1


def test_an_addend_of_two_matrices() -> None:
    for shape in ((9, 20), (20,), (1, 20)):
        args = (torch.randn(shape), torch.randn(9, 40), torch.randn(40, 20))
        assert added(torch.addmm, *args) == 1


@pytest.mark.parametrize(("beta", "alpha"), [(1, 0.125), (0.5, 1), (0, 2), (0, 1), (-1, 3)])
def test_factors(beta: float, alpha: float) -> None:
    def scaled(c: Tensor, a: Tensor, b: Tensor) -> Tensor:
        return torch.baddbmm(c, a, b, beta=beta, alpha=alpha)

    addend = torch.randn(3, 7, 33)
    if beta == 0:
        addend[0, 0, 0] = float("nan")
    assert added(scaled, addend, torch.randn(3, 7, 20), torch.randn(3, 20, 33)) == 1


def added(function: Callable[..., Tensor], *args: Tensor) -> int:
    """The number of native matmuls, after checking the result."""
    compiled = ingot.compile(function, args, options={"strict": True})
    truth = function(*(a.double() for a in args))
    torch.testing.assert_close(compiled(*args).double(), truth, rtol=5e-5, atol=5e-5)
    return len(native(compiled))


def test_nothing_to_sum_up() -> None:
    check(torch.randn(2, 3, 0), torch.randn(2, 0, 4))
    check(torch.randn(0, 3, 5), torch.randn(0, 5, 4))
