"""Strided loads and stores: slices with a step, flips, separated channels."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import ingot
from tests.programs.check import by_threads

DTYPES = [torch.float32, torch.bfloat16, torch.int64, torch.uint8]
LENGTHS = [1, 7, 129, 1000]
READ: dict[str, Callable[[Tensor], Tensor]] = {
    "every second": lambda x: x[:, ::2] + 1,
    "every third": lambda x: x[:, 1::3] + 1,
    "every tenth": lambda x: x[:, 3::10] + 1,
    "flipped": lambda x: x.flip(-1) + 1,
    "flipped both": lambda x: x.flip(0, 1)[::2] + 1,
    "neighbours": lambda x: torch.maximum(x[:, :-1:2], x[:, 1::2]),
    "rows": lambda x: x[:, ::2].sum(-1),
    "flipped rows": lambda x: x.flip(-1).amax(-1),
    "columns": lambda x: x[::2].sum(0),
    "diagonal": lambda x: x.diagonal() + 1,
    "apart": lambda x: x[:, : x.size(1) // 3 * 3].reshape(len(x), -1, 3).transpose(1, 2) + 1,
    "interleaved": lambda x: (
        x[:, : x.size(1) // 3 * 3].reshape(len(x), 3, -1).transpose(1, 2).contiguous()
    ),
    "together": lambda x: torch.stack([x, x + 1], -1).flatten(1),
}
NEED_MORE = ("neighbours", "apart", "flipped rows", "every third", "interleaved")


@torch.no_grad()
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", READ)
def test_even_steps(name: str, dtype: torch.dtype) -> None:
    for length in LENGTHS:
        if length == 1 and name in NEED_MORE:
            continue
        x = torch.randint(0, 100, (70, length)).to(dtype)
        x = x[:, : length // 2 * 2] if name == "neighbours" else x
        compiled = ingot.compile(READ[name], (x,), options={"strict": True})
        for result in by_threads(lambda: compiled(x)):  # noqa: B023
            torch.testing.assert_close(result, READ[name](x))


@torch.no_grad()
@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("step", [2, 3, 7])
def test_nothing_is_read_behind_the_end(step: int, start: int) -> None:
    """The memory after the last element is not readable."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 5 * page)
    x = torch.frombuffer(memory, dtype=torch.float32)[: 4 * page // 4].normal_()
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(x.data_ptr() + 4 * page), page, 0) == 0
    x = x[(len(x) - 1 - start) % step :]
    for function in (lambda x: x[::step] * 2, lambda x: x[start:].flip(0) * 2):
        compiled = ingot.compile(function, (x,), options={"strict": True})
        assert torch.equal(compiled(x), function(x))


@torch.no_grad()
def test_pairs_are_turned() -> None:
    def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)

    for width in (2, 6, 64, 130):
        inputs = torch.randn(2, 3, 5, width), torch.randn(5, width // 2), torch.randn(5, width // 2)
        compiled = ingot.compile(rotary, inputs, options={"strict": True})
        torch.testing.assert_close(compiled(*inputs), rotary(*inputs))
