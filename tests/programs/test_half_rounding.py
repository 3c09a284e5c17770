"""Every bf16 value, including all NaN payloads, through chains rounded after each step: rounding
never turns a NaN into a number or a number into a NaN."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import ingot

EVERY = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
"""All 65,536 bf16 values."""

CHAINS: dict[str, Callable[[Tensor], Tensor]] = {
    "a sum": lambda x: x + 1.5,
    "a product": lambda x: x * x.flip(0),
    "a quotient": lambda x: 3 / x - x / 7,
    "several": lambda x: ((x * 1.7 + x.roll(1)) / 3 - 0.3).maximum(x * 0.25) * x,
    "chosen": lambda x: torch.where(x > 0, x * 3, x - x.roll(77)) + 1,
    "a root": lambda x: (x * 0.7).sqrt() - x.abs() * 1.1,
    "from f32": lambda x: (x.float() * 1.001).to(torch.bfloat16) * 3,
    "f32 with every bit": lambda x: (x.float() + 0).to(torch.bfloat16),
}


@pytest.mark.parametrize("name", CHAINS)
def test_every_number(name: str) -> None:
    chain = CHAINS[name]
    actual, expected = ingot.compile(chain, (EVERY,))(EVERY), chain(EVERY)
    assert torch.equal(actual.isnan(), expected.isnan())
    known = ~expected.isnan()
    assert torch.equal(actual[known], expected[known])


def test_nans_of_f32_with_all_bits() -> None:
    """Rounding these bit patterns would carry into the sign."""
    bits = torch.tensor([0x7FFFFFFF, 0x7FFF8000, 0x7F800001, -1, -0x7FFFFF], dtype=torch.int32)
    x = bits.view(torch.float32).repeat(7)
    assert x.isnan().all()
    for chain in (lambda x: x.bfloat16(), lambda x: (x * 2).bfloat16() + 1):
        assert ingot.compile(chain, (x,))(x).isnan().all()


MIXED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "a factor": lambda x, y: x * y,
    "a first factor": lambda x, y: y * x,
    "a divisor": lambda x, y: x / y,
    "a dividend": lambda x, y: y / x,
    "whole quotients": lambda x, y: torch.div(y, x, rounding_mode="trunc"),
    "whole quotients of it": lambda x, y: torch.div(x * 40, y, rounding_mode="trunc"),
    "quotients rounded down": lambda x, y: (x * 40) // y,
    "a term": lambda x, y: x + y,
    "a base": lambda x, y: (y * 0 + 1 + y % 7) ** x,
    "an exponent": lambda x, y: x.abs() ** (y % 300),
    "an angle": torch.atan2,
    "a remainder": torch.remainder,
    "logarithms": torch.xlogy,
    "logarithms of one more": torch.special.xlog1py,
    "a product to add": lambda x, y: torch.addcmul(x, x, y),
    "a comparison": lambda x, y: x * 600 < y,
    "a choice": lambda x, y: torch.where(x > 0, x, y),
}
OTHERS = {
    "int64": torch.arange(1000) * 13,
    "int32": (torch.arange(1000) * 13).int(),
    "truth": torch.arange(1000) % 3 == 0,
    "one int64": torch.tensor(2571),
    "one int64 with a dimension": torch.tensor([2571]),
    "one f32": torch.tensor(1.2345),
    "one bf16": torch.tensor(1.1875, dtype=torch.bfloat16),
    "one f64": torch.tensor(2571.3, dtype=torch.float64),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", MIXED)
def test_halves_beside_other_types(name: str, other: str, dtype: torch.dtype) -> None:
    """Eager converts tensors to the common type first, except a one-element factor or divisor."""
    function, y = MIXED[name], OTHERS[other]
    x = torch.randn(1000, generator=torch.Generator().manual_seed(7)).to(dtype)
    expected = function(x, y)
    actual = ingot.compile(function, (x, y), options={"strict": True})(x, y)
    torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)
