"""Tensors created inside the program: constants of every dtype, lifted constants, factories."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from .check import check

NUMBERS = {
    torch.float64: [1.1, -2.5, float("inf")],
    torch.float32: [1.1, -2.5, float("nan")],
    torch.float16: [1.1, -2.5, 65504.0],
    torch.bfloat16: [1.1, -2.5, 3e38],
    torch.float8_e4m3fn: [1.1, -2.5, 448.0],
    torch.float8_e5m2: [1.1, -2.5, 57344.0],
    torch.complex64: [1 + 2j, -2.5, 1e-3j],
    torch.complex128: [1 + 2j, -2.5, 1e-3j],
    torch.complex32: [1 + 2j, -2.5, 0.5j],
    torch.int64: [2**62, -3, 0],
    torch.int32: [2**31 - 1, -3, 0],
    torch.int16: [2**15 - 1, -3, 0],
    torch.int8: [127, -3, 0],
    torch.uint8: [255, 3, 0],
    torch.uint16: [65535, 3, 0],
    torch.uint32: [2**32 - 1, 3, 0],
    torch.uint64: [2**63 - 1, 3, 0],
    torch.bool: [True, False, True],
}
ARITHMETIC = [d for d in NUMBERS if d.itemsize > 1 and "uint" not in str(d)]


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_constant_is_returned(dtype: torch.dtype) -> None:
    check(lambda: torch.tensor(NUMBERS[dtype], dtype=dtype), exact=True)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_constant_beside_an_input(dtype: torch.dtype) -> None:
    check(lambda x: (x + 1, torch.tensor(NUMBERS[dtype], dtype=dtype)), torch.ones(3), exact=True)


@pytest.mark.parametrize("dtype", ARITHMETIC, ids=str)
def test_constant_in_arithmetic(dtype: torch.dtype) -> None:
    def function(x: Tensor) -> Tensor:
        return x * torch.tensor(NUMBERS[dtype], dtype=dtype) + torch.tensor(2, dtype=dtype)

    check(function, torch.randn(4, 3))
    check(function, torch.ones(4, 3, dtype=dtype))


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_constant_is_cast(dtype: torch.dtype) -> None:
    def function(x: Tensor) -> Tensor:
        constant = torch.tensor(NUMBERS[dtype], dtype=dtype)
        return constant.to(torch.complex64 if dtype.is_complex else torch.float32) + x

    check(function, torch.randn(3))


def test_the_seed_document_case() -> None:
    check(lambda: torch.tensor([1, 2]))


def test_scalar_constants() -> None:
    check(
        lambda x: torch.where(x > 0, torch.tensor(1.5), torch.tensor(float("-inf"))), torch.randn(9)
    )
    check(lambda x: torch.full((3, 3), torch.tensor(float("-inf"))).triu(1) + x, torch.randn(3, 3))


def test_nested_and_empty_constants() -> None:
    check(lambda x: x @ torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.randn(3, 2))
    check(lambda x: torch.cat([x, torch.tensor([])]), torch.randn(3))
    check(lambda x: (x, torch.tensor([], dtype=torch.int64)), torch.randn(3))


def test_constants_are_fresh_on_every_call() -> None:
    """A write to a constant in one call is not visible in the next."""

    def function(x: Tensor) -> Tensor:
        constant = torch.tensor([1.0, 2.0, 3.0])
        constant += x
        return constant

    check(function, torch.ones(3), calls=3)


def test_returned_constant_does_not_share_memory() -> None:
    compiled = torch.compile(
        lambda x: (x + 1, torch.tensor([1.0, 2.0])), backend="ingot", options={"strict": True}
    )
    first = compiled(torch.ones(2))[1]
    first.fill_(9)
    assert torch.equal(compiled(torch.ones(2))[1], torch.tensor([1.0, 2.0]))


def test_closed_over_tensor_follows_its_owner() -> None:
    weight = torch.ones(3)
    compiled = torch.compile(lambda x: x * weight, backend="ingot", options={"strict": True})
    assert torch.equal(compiled(torch.ones(3)), torch.ones(3))
    weight.mul_(2)
    assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 2.0))


def test_lift() -> None:
    check(lambda x: torch.ops.aten.lift_fresh_copy(x) + 1, torch.randn(3))
    check(lambda x: torch.ops.aten.lift_fresh_copy(x), torch.randn(3))


@pytest.mark.parametrize("op", ["lift", "lift_fresh"])
def test_lift_of_an_input(op: str) -> None:
    """Upstream's functionalization refuses some; a graph break must then give eager's result."""
    function = getattr(torch.ops.aten, op)
    check(lambda x: function(x) * 2, torch.randn(3), fullgraph=False)
    check(lambda x: function(x), torch.randn(3), fullgraph=False)


def test_factories() -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        n = x.size(-1)
        return (
            torch.arange(n) * 2,
            torch.arange(0.5, n, 0.75) + x[0, 0],
            torch.linspace(-1, 1, n) * x,
            torch.logspace(0, 1, n),
            torch.eye(n, dtype=torch.float64),
            torch.full((2, n), 7) + 1,
            torch.zeros(2, n).bool() | (x > 0),
            torch.ones_like(x, dtype=torch.int16),
            torch.tril(torch.ones(n, n)) @ x.t(),
            torch.arange(n).expand(2, n) > torch.arange(2)[:, None],
        )

    check(function, torch.randn(2, 5))


def test_numpy_constants() -> None:
    import numpy as np

    table = np.linspace(0, 1, 5, dtype=np.float64)
    check(lambda x: x * torch.from_numpy(table), torch.randn(5))
