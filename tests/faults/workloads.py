"""Small programs that reach most stages. Each instance is new to the compiler, so that no cached
result of an earlier one is used."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.export import Dim

import ingot

Options = dict[str, Any]


class Workload(ABC):
    """One entry point of the compiler. `number` makes constants and sizes unique."""

    def __init__(self, number: int) -> None:
        torch.manual_seed(number)
        self.width = 8 + number % 97
        self.x = torch.randn(6, 5)
        self.weight = torch.nn.Parameter(torch.randn(5, self.width))
        self.scale = 1.0 + number / 1000

    def program(self, x: Tensor) -> Tensor:
        y = F.gelu(x @ self.weight) * self.scale + 1
        y = F.layer_norm(y, (self.width,)).softmax(-1)
        return torch.cat([y, y.flip(0)], 1).sum(0) * y.t().contiguous().amax()

    def expected(self) -> list[Tensor]:
        with torch.no_grad():
            return [self.program(self.x)]

    @abstractmethod
    def run(self, options: Options) -> list[Tensor]:
        """Compile and call."""


class Inference(Workload):
    dynamic: bool | None = None

    def run(self, options: Options) -> list[Tensor]:
        torch._dynamo.reset()
        compiled = torch.compile(
            self.program, backend="ingot", options=options, dynamic=self.dynamic
        )
        with torch.no_grad():
            return [compiled(self.x)]


class Dynamic(Inference):
    dynamic = True


class Training(Workload):
    def _step(self, program: Callable[[Tensor], Tensor]) -> list[Tensor]:
        self.weight.grad = None
        loss = program(self.x).square().sum()
        loss.backward()
        assert self.weight.grad is not None
        return [loss.detach(), self.weight.grad]

    def expected(self) -> list[Tensor]:
        return self._step(self.program)

    def run(self, options: Options) -> list[Tensor]:
        torch._dynamo.reset()
        return self._step(torch.compile(self.program, backend="ingot", options=options))


class Ahead(Workload):
    shapes: Any = None

    def run(self, options: Options) -> list[Tensor]:
        with torch.no_grad():
            compiled = ingot.compile(
                self.program, (self.x,), dynamic_shapes=self.shapes, options=options
            )
            return [compiled(self.x)]


class AheadDynamic(Ahead):
    shapes = ({0: Dim.AUTO},)


class Convolutions(Inference):
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.net = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
            torch.nn.MaxPool2d(2), torch.nn.Conv2d(8, 8, 3), torch.nn.Flatten(),
        ).eval()  # fmt: skip
        self.x = torch.randn(1, 3, 8 + number % 9, 10)

    def program(self, x: Tensor) -> Tensor:
        return self.net(x) * self.scale


class Writing(Workload):
    """A write to an input happens exactly once, compiled or after a fallback."""

    def expected(self) -> list[Tensor]:
        x = self.x.clone()
        with torch.no_grad():
            return [self.written(x), x]

    def written(self, x: Tensor) -> Tensor:
        y = self.program(x)
        x.mul_(2).add_(self.scale)
        return y + x.sum()

    def run(self, options: Options) -> list[Tensor]:
        torch._dynamo.reset()
        x = self.x.clone()
        with torch.no_grad():
            result = torch.compile(self.written, backend="ingot", options=options)(x)
        return [result, x]


WORKLOADS: dict[str, type[Workload]] = {
    "inference": Inference, "dynamic": Dynamic, "training": Training, "ahead": Ahead,
    "ahead dynamic": AheadDynamic, "convolutions": Convolutions, "writing": Writing,
}  # fmt: skip
