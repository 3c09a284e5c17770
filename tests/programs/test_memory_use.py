"""A compiled model needs at most 5% more memory than eager, besides the packed weights shown in the
report, and its calls do not leak.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import ingot
from tests.programs.memory_use import MODELS

MORE = 1.05
pytestmark = pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="the system does not count peaks"
)


def peak(name: str, how: str) -> tuple[int, int]:
    command = [sys.executable, "-m", "tests.programs.memory_use", name, how]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    most, packed = map(int, done.stdout.split())
    return most, packed


def test_without_packed_weights() -> None:
    eager, _ = peak("wide", "eager")
    ours, packed = peak("wide", json.dumps({"variants": "matmul=library"}))
    assert packed == 0
    assert ours <= MORE * eager


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_the_most_at_a_time(name: str) -> None:
    eager, _ = peak(name, "eager")
    ours, packed = peak(name, "{}")
    assert ours - packed <= MORE * eager


@pytest.mark.slow
def test_int8_weights_take_a_quarter() -> None:
    eager, _ = peak("wide", "eager")
    ours, packed = peak("wide", json.dumps({"weights": "int8"}))
    assert packed < 0.27 * 8 * 3072 * 3072 * 4
    assert ours - packed <= MORE * eager


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Counting(nn.Module):
    """A decoder step: dynamic sizes, a cache update, a result of dynamic length."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(32, 32)
        self.register_buffer("cache", torch.zeros(64, 32))

    def forward(self, x: Tensor, place: Tensor) -> Tensor:
        self.cache.index_copy_(0, place, self.linear(x).sum(0, keepdim=True))
        return torch.softmax(self.linear(x) @ self.cache.t(), -1)


def grows(call: Callable[[int], object], calls: int) -> int:
    """Bytes of growth after the warm-up."""
    for number in range(calls // 10):
        call(number)
    before = resident()
    for number in range(calls):
        call(number)
    return resident() - before


@pytest.mark.parametrize("calls", [1000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_calls_leave_nothing_behind(calls: int) -> None:
    module = Counting()
    rows = torch.export.Dim("rows", min=1, max=512)
    example = (torch.randn(5, 32), torch.tensor([0]))
    with torch.no_grad():
        ahead = ingot.compile(
            module, example, dynamic_shapes={"x": {0: rows}, "place": None}
        )  # fmt: skip
        traced = torch.compile(module, backend="ingot", dynamic=True)

        def call(number: int) -> None:
            x, place = torch.randn(2 + number % 300, 32), torch.tensor([number % 64])
            ahead(x, place)
            traced(x, place)

        assert grows(call, calls) < 1 << 21


@pytest.mark.slow
def test_changed_weights_leave_nothing_behind() -> None:
    """The packed copy of an old weight is freed when the new one is packed."""
    linear, x = nn.Linear(256, 256), torch.randn(4, 256)
    with torch.no_grad():
        compiled = ingot.compile(linear, (x,))

        def call(number: int) -> None:
            if number % 2:
                linear.weight.data = torch.randn(256, 256)
            else:
                linear.weight.add_(1)
            compiled(x)

        assert grows(call, 1000) < 1 << 21
