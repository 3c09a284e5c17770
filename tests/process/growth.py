"""Resident memory over many compilations whose results are dropped; run as a subprocess by
`test_memory_growth`."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

WARM_UP = 100


class Net(nn.Module):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.linear, self.number = nn.Linear(32, 32), number

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.linear(x) * (self.number + 0.5), -1).sum(0)


def resident() -> float:
    """Resident memory in megabytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def ingot_compile(net: nn.Module, x: Tensor) -> None:
    import ingot

    ingot.compile(net, (x,))(x)


def torch_compile(net: nn.Module, x: Tensor) -> None:
    torch.compile(net, backend="ingot")(x)
    torch._dynamo.reset()


def torch_export(net: nn.Module, x: Tensor) -> None:
    """The calls of PyTorch that ingot.compile makes."""
    torch.export.export(net, (x,)).run_decompositions().module()(x)


def aot_eager(net: nn.Module, x: Tensor) -> None:
    """torch.compile without ingot as the backend."""
    torch.compile(net, backend="aot_eager")(x)
    torch._dynamo.reset()


WAYS: dict[str, Callable[[nn.Module, Tensor], Any]] = {
    way.__name__: way for way in (ingot_compile, torch_compile, torch_export, aot_eager)
}


def main(way: str, count: str) -> None:
    """Print the growth in megabytes caused by `count` compilations after the warm-up."""
    start = 0.0
    with torch.no_grad():
        for number in range(WARM_UP + int(count)):
            if number == WARM_UP:
                gc.collect()
                start = resident()
            WAYS[way](Net(number).eval(), torch.randn(8, 32))
    gc.collect()
    print(resident() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])
