"""The memory needed to call a model: `python -m tests.programs.memory_use NAME HOW` prints the peak
resident memory during the calls and the packed weights in it, both in bytes. HOW is `eager`, or
options of ingot as JSON. The model is compiled in both cases, so that only the calls are compared.
"""

from __future__ import annotations

import ctypes
import gc
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ingot
from ingot.plan.prepared import prepared_bytes

Built = tuple[nn.Module, Callable[[int], Tensor]]
"""A model, and a function from a size to an input."""


class Block(nn.Module):
    """A transformer layer with attention written as matmuls and softmax."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mixed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        heads = self.mixed(self.first(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        q, k, v = heads.unbind()
        scores = (q @ k.transpose(-1, -2)) / q.shape[-1] ** 0.5
        x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.second(x))))


def wide() -> Built:
    """A model that consists mostly of weights."""
    layers = [nn.Sequential(nn.Linear(3072, 3072), nn.ReLU()) for _ in range(8)]
    return nn.Sequential(*layers), lambda size: torch.randn(size, 3072)


def transformer() -> Built:
    return nn.Sequential(Block(256, 8), Block(256, 8)), lambda size: torch.randn(8, size, 256)


MODELS: dict[str, tuple[Callable[[], Built], int]] = {
    "wide": (wide, 64),
    "transformer": (transformer, 512),
}
"""Name → (builder, size of the input)."""
CALLS = 3


def peak(name: str, how: str) -> tuple[int, int]:
    build, size = MODELS[name]
    model, make = build()
    model.eval()
    options = {} if how == "eager" else json.loads(how)
    with torch.no_grad():
        compiled = ingot.compile(model, (make(size),), options=options)
        call: Callable[[Tensor], Tensor] = model if how == "eager" else compiled
        _settle()
        for _ in range(CALLS):
            call(make(size))
    return _most_resident(), prepared_bytes()


def _settle() -> None:
    """Return memory freed after compilation to the system and reset the peak."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def _most_resident() -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return 1024 * int(found[1])


if __name__ == "__main__":
    print(*peak(*sys.argv[1:]))
