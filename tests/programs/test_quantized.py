"""Quantized tensors: PyTorch's fake tensors report them as f32, so they are left to eager."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

import ingot


@pytest.fixture(autouse=True)
def quietly() -> Iterator[None]:
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        yield


def quantized(x: Tensor, dtype: torch.dtype = torch.quint8) -> Tensor:
    return torch.quantize_per_tensor(x, 0.1, 3, dtype)


FUNCTIONS: dict[str, Callable[[Tensor], Any]] = {
    "returned": quantized,
    "dequantized": lambda x: quantized(x).dequantize(),
    "dequantized, then arithmetic": lambda x: quantized(x).dequantize() * 2 + x,
    "an operation in between": lambda x: torch.relu(quantized(x - 0.5)).dequantize().sin(),
    "qint32": lambda x: quantized(x, torch.qint32).dequantize() * 3,
    "a view of it": lambda x: quantized(x).view(2, -1).t().dequantize() + 1,
    "two together": lambda x: torch.cat([quantized(x), quantized(x)]).dequantize() * 2,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("entry", ["ahead", "torch.compile"])
def test_quantized_values_are_those_of_eager(name: str, entry: str) -> None:
    function, x = FUNCTIONS[name], torch.rand(4)
    wanted = function(x)
    if entry == "ahead":
        compiled: Any = ingot.compile(function, (x,))
    else:
        torch._dynamo.reset()
        compiled = torch.compile(function, backend="ingot")
    for _ in range(2):
        got = compiled(x)
        assert got.dtype is wanted.dtype
        assert torch.equal(got.dequantize(), wanted.dequantize())


def test_strict_says_why() -> None:
    with pytest.raises(ingot.CaptureError, match="quantized"):
        ingot.compile(FUNCTIONS["dequantized"], (torch.rand(4),), options={"strict": True})
    with pytest.raises(ingot.CaptureError, match="quantized"):
        ingot.export(FUNCTIONS["dequantized"], (torch.rand(4),))


@torch.library.custom_op("trust::halved", mutates_args=())
def halved(x: Tensor) -> Tensor:
    return (x / 2).double()


@halved.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)  # not double


@pytest.mark.parametrize("entry", ["ahead", "torch.compile"])
def test_a_fake_kernel_that_lies_about_the_dtype_is_found_out(entry: str) -> None:
    def function(x: Tensor) -> Tensor:
        return halved(x) * 2 + 1

    x = torch.rand(64)
    if entry == "ahead":
        compiled: Any = ingot.compile(function, (x,))
    else:
        torch._dynamo.reset()
        compiled = torch.compile(function, backend="ingot")
    for _ in range(2):  # the op may have side effects, so it is not repeated in eager
        with pytest.raises(ingot.IngotError, match=r"float64; the graph says torch\.float32"):
            compiled(x)
