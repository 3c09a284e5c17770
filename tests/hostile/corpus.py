"""The programs whose files are attacked; together they use every construct of the format."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

import ingot


class Net(nn.Module):
    """Weights, a mutated buffer, a tied weight, and a non-contiguous weight."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)
        self.two.weight = self.one.weight
        self.strided = nn.Parameter(torch.randn(4, 4).t())
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: Tensor, scale: float = 2.0) -> Tensor:
        self.count.add_(1)
        return torch.relu(self.two(self.one(x))) @ self.strided * scale


class Colour(enum.Enum):
    RED = 1


@dataclass
class Result:
    total: Tensor
    parts: dict[str, list[Tensor]]


class Structured(nn.Module):
    def forward(self, pair: tuple[Tensor, dict[str, Tensor]]) -> Result:
        first, named = pair
        return Result(first + named["a"], {"x": [named["b"] * 2, first]})


class Many(nn.Module):
    """Constants of many dtypes."""

    def __init__(self) -> None:
        super().__init__()
        self.wave = torch.randn(3, dtype=torch.complex64)
        self.low = nn.Parameter(torch.randn(3).to(torch.bfloat16))
        self.small = torch.tensor([1, 2, 3], dtype=torch.uint8)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return x * self.wave, x.to(torch.bfloat16) + self.low, x.sum() + self.small


def sizes(x: Tensor, y: Tensor) -> Tensor:
    a, b = x.shape
    flat = x.reshape(-1)[: (a * b) // 2]
    return flat.sum() + torch.cat([y, y])[: max(a, 3)].sum() * (a % 3)


def regions(x: Tensor) -> Tensor:
    with torch.no_grad():
        y = torch.nn.functional.gelu(x)
    with torch.autocast("cpu", torch.bfloat16):
        z = x @ y
    with torch.inference_mode():
        z = z + 1
    return z.float() * y


def branches(x: Tensor) -> Tensor:
    y = torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos(), (x,))
    return torch.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (torch.tensor(0), y))[
        1
    ]


def data_dependent(x: Tensor, n: Tensor) -> Tensor:
    found = x.nonzero()
    return found.sum() + x[n.item()] * 2


def loss(model: nn.Module) -> Callable[[Tensor], Tensor]:
    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = model

        def forward(self, x: Tensor) -> Tensor:
            return self.net(x).square().mean()

    return Loss()


def _static() -> ingot.Program:
    return ingot.export(Net(), (torch.randn(2, 4),), {"scale": 3.0})


def _dynamic() -> ingot.Program:
    shapes = {"x": {0: Dim.AUTO, 1: Dim.AUTO}, "y": {0: Dim.AUTO}}
    return ingot.export(sizes, (torch.randn(6, 5), torch.randn(7)), dynamic_shapes=shapes)


def _structured() -> ingot.Program:
    x = torch.randn(3)
    return ingot.export(Structured(), ((x, {"a": x + 1, "b": x + 2}),), level="pre-dispatch")


def _data_dependent() -> ingot.Program:
    return ingot.export(data_dependent, (torch.ones(5), torch.tensor(2)), level="core")


PROGRAMS: dict[str, Callable[[], Any]] = {
    "static": _static,
    "dynamic": _dynamic,
    "regions": lambda: ingot.export(regions, (torch.randn(3, 3),), level="pre-dispatch"),
    "control": lambda: ingot.export(branches, (torch.randn(3),), level="pre-dispatch"),
    "dtypes": lambda: ingot.export(Many(), (torch.randn(3),), level="pre-dispatch"),
    "structured": _structured,
    "data_dependent": _data_dependent,
    "training": lambda: ingot.export(loss(Net()), (torch.randn(2, 4),), train=True),
}
