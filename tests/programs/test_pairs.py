"""Vectorised bf16: two elements share 32 bits, so lanes hold the even elements first. Results must
not depend on this, whatever else is in the loop."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import ingot
from ingot.machine import this_machine
from tests.programs.check import by_threads

BF16 = torch.bfloat16
LENGTHS = [1, 2, 31, 32, 33, 63, 64, 65, 127, 200, 1000]
POINTWISE: dict[str, Callable[[Tensor], Tensor]] = {
    "a chain": lambda x: torch.where(x > 0.1, x * x + 0.5, x - 3),
    "beside f32": lambda x: x * x + (x.float() * 1.5).to(BF16),
    "to f32": lambda x: (x * x).float() + 1,
    "from an index": lambda x: x * torch.arange(x.size(-1)),
    "a mask": lambda x: (x * x).masked_fill(torch.arange(x.size(-1)) % 3 == 0, 2.0),
    "to truth": lambda x: (x * x > x, x + x),
    "to integers": lambda x: ((x * 100).to(torch.int64), x + x),
    "of another row": lambda x: x + x[:1] + x[:, :1],
    "every second": lambda x: x[:, ::2] * x[:, ::2],
    "flipped": lambda x: x + x.flip(-1),
    "joined": lambda x: torch.cat([x * 2, -x, x[:, :5]], -1) * 3,
    "padded": lambda x: F.pad(x, (3, 5), value=0.5) * 3,
    "rolled": lambda x: x.roll(1, -1) * x,
    "looked up": lambda x: x[:, torch.arange(x.size(-1)).flip(0) // 2] * x,
    "rows looked up": lambda x: x[torch.tensor([3, 0, -1])] * 3,
    "triangle": lambda x: x.tril(-1) + x,
    "transposed": lambda x: x.t().contiguous().t() + x,
    "reshaped": lambda x: x.reshape(-1, 4, x.size(-1)).transpose(0, 1) * 2,
}
REDUCED: dict[str, Callable[[Tensor], Tensor]] = {
    "rows": lambda x: x.sum(-1),
    "columns": lambda x: x.sum(0),
    "all": lambda x: x.sum(),
    "largest": lambda x: x.amax(-1),
    "its place": lambda x: x.argmax(-1),
    "its place in columns": lambda x: x.max(0),
    "softmax": lambda x: x.softmax(-1),
    "down": lambda x: x.softmax(0),
    "norm": lambda x: F.layer_norm(x, x.shape[1:]),
    "spread": lambda x: x.var(-1),
    "running sums": lambda x: x.cumsum(-1),
}


KEPT: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "rows": lambda x, y: F.gelu(x * y) - F.gelu(x * y).amax(-1, keepdim=True),
    "several rows": lambda x, y: F.gelu(x * y) - F.gelu(x * y).amax((1, 2), keepdim=True),
    "joined rows": lambda x, y: torch.cat([x * y, x[..., :20]], -1).tanh().softmax(-1),
    "several joined rows": lambda x, y: (
        (z := torch.cat([x[..., :20] - y[:20], x * y], -1).exp()) - z.amax((1, 2), keepdim=True)
    ),
}


def awkward(rows: int, length: int) -> Tensor:
    """Every kind of value: denormals, halfway cases, infinities, all NaN payloads."""
    generator = torch.Generator().manual_seed(length)
    x = torch.randn(rows, length, generator=generator).to(BF16)
    bits = torch.randint(-(1 << 15), 1 << 15, (rows, length), generator=generator)
    anything = bits.to(torch.int16).view(BF16)
    return torch.where(torch.rand(rows, length, generator=generator) < 0.3, anything, x)


@torch.no_grad()
@pytest.mark.parametrize("name", POINTWISE)
def test_equals_eager(name: str) -> None:
    function = POINTWISE[name]
    for length in LENGTHS:
        x = awkward(8, length) if name != "to integers" else torch.randn(8, length).to(BF16)
        if length < 5 and name in ("joined", "padded", "rolled"):
            continue
        compiled = ingot.compile(function, (x,), options={"strict": True})
        for result in by_threads(lambda: compiled(x)):  # noqa: B023
            torch.testing.assert_close(result, function(x), rtol=0, atol=0, equal_nan=True)


@torch.no_grad()
@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize("shape", [(3, 65), (70, 64), (128, 768), (2, 100_000)], ids=str)
def test_reductions(name: str, shape: tuple[int, int]) -> None:
    x = torch.randn(shape).to(BF16)
    function = REDUCED[name]
    compiled = ingot.compile(function, (x,), options={"strict": True})
    for result in by_threads(lambda: compiled(x)):
        torch.testing.assert_close(result, function(x))


@torch.no_grad()
@pytest.mark.parametrize("length", [25, 32, 33, 63, 64, 90, 129])
@pytest.mark.parametrize("name", KEPT)
def test_values_that_are_kept_for_later(name: str, length: int) -> None:
    """Values stored by one pass over a row for the next: no step may overwrite another's."""
    x, y = torch.randn(3, 5, length).to(BF16), torch.randn(length).to(BF16)
    function = KEPT[name]
    compiled = ingot.compile(function, (x, y), options={"strict": True})
    for result in by_threads(lambda: compiled(x, y)):
        torch.testing.assert_close(result, function(x, y))


@torch.no_grad()
@pytest.mark.parametrize("bits", [b for b in (1, 128, 256, 512) if b <= this_machine().vector_bits])
def test_all_widths(bits: int) -> None:
    def function(x: Tensor, y: Tensor) -> Tensor:
        return F.gelu(torch.cat([x * y, x - y], -1)) * 1.5

    x, y = awkward(5, 96), awkward(5, 96)
    wide = ingot.compile(function, (x, y))(x, y)
    narrow = ingot.compile(function, (x, y), options={"vector_bits": bits})(x, y)
    torch.testing.assert_close(narrow, wide, rtol=0, atol=0, equal_nan=True)


@torch.no_grad()
def test_results_past_the_cache() -> None:
    x = torch.randn(1 << 23).to(BF16)
    compiled = ingot.compile(lambda x: x * x + 1, (x,))
    assert torch.equal(compiled(x), x * x + 1)


@torch.no_grad()
def test_in_place_and_dynamic() -> None:
    def function(x: Tensor, y: Tensor) -> Tensor:
        x.mul_(y).add_(1)
        return (x * 2).sum(-1, keepdim=True) + y

    compiled = torch.compile(function, backend="ingot", dynamic=True)
    for length in (2, 33, 64, 129):
        x, y = torch.randn(4, length).to(BF16), torch.randn(4, length).to(BF16)
        theirs = x.clone()
        torch.testing.assert_close(compiled(x, y), function(theirs, y))
        assert torch.equal(x, theirs)
