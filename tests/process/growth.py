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


def ingot_compile_dynamic(net: nn.Module, x: Tensor) -> None:
    """Three sizes of one program."""
    import ingot

    program = ingot.compile(net, (x,), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    for size in (8, 5, 12):
        program(torch.randn(size, 32))


def torch_compile_dynamic(net: nn.Module, x: Tensor) -> None:
    """A program for one size, then one for all."""
    compiled = torch.compile(net, backend="ingot")
    for size in (8, 5, 12):
        compiled(torch.randn(size, 32))
    torch._dynamo.reset()


def torch_compile_training(net: nn.Module, x: Tensor) -> None:
    """Forward and backward, of one size and then of all."""
    _train(net, "ingot")


def torch_export(net: nn.Module, x: Tensor) -> None:
    """The calls of PyTorch that ingot.compile makes."""
    torch.export.export(net, (x,)).run_decompositions().module()(x)


def aot_eager(net: nn.Module, x: Tensor) -> None:
    """torch.compile without ingot as the backend."""
    torch.compile(net, backend="aot_eager")(x)
    torch._dynamo.reset()


def torch_export_dynamic(net: nn.Module, x: Tensor) -> None:
    program = torch.export.export(net, (x,), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    module = program.run_decompositions().module()
    for size in (8, 5, 12):
        module(torch.randn(size, 32))


def aot_eager_dynamic(net: nn.Module, x: Tensor) -> None:
    compiled = torch.compile(net, backend="aot_eager")
    for size in (8, 5, 12):
        compiled(torch.randn(size, 32))
    torch._dynamo.reset()


def aot_eager_training(net: nn.Module, x: Tensor) -> None:
    _train(net, "aot_eager")


def _train(net: nn.Module, backend: str) -> None:
    compiled = torch.compile(net, backend=backend)
    with torch.enable_grad():
        for size in (8, 5):
            compiled(torch.randn(size, 32)).square().sum().backward()
    torch._dynamo.reset()


WAYS: dict[str, Callable[[nn.Module, Tensor], Any]] = {
    way.__name__: way
    for way in (
        ingot_compile, torch_compile, torch_export, aot_eager, ingot_compile_dynamic,
        torch_compile_dynamic, torch_export_dynamic, aot_eager_dynamic, torch_compile_training,
        aot_eager_training,
    )
}  # fmt: skip


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
