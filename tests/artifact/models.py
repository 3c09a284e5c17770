"""Models for artifacts, each with the arguments of several calls; the first are the example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim


@dataclass(frozen=True)
class Case:
    model: Callable[..., Any]
    calls: tuple[tuple[Any, ...], ...]
    dynamic_shapes: Any = None


def _mlp() -> Case:
    model = nn.Sequential(nn.Linear(48, 96), nn.GELU(), nn.LayerNorm(96), nn.Linear(96, 24))
    calls = tuple((torch.randn(n, 48),) for n in (16, 1, 33, 200))
    return Case(model.eval(), calls, ({0: Dim("batch", min=1, max=1024)},))


def _convolutions() -> Case:
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.Conv2d(16, 32, 1), nn.SiLU(),
        nn.Conv2d(32, 32, 3, padding=1), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(32, 10),
    )  # fmt: skip
    return Case(model.eval(), ((torch.randn(2, 3, 32, 32),), (torch.randn(2, 3, 32, 32),)))


class _Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(100, 64)
        self.qkv, self.out = nn.Linear(64, 192), nn.Linear(64, 64)

    def forward(self, tokens: Tensor, mask: Tensor) -> dict[str, Tensor]:
        x = self.embedding(tokens)
        q, k, v = (t.unflatten(-1, (4, 16)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, mask[:, None, None, :])
        y = self.out(y.transpose(1, 2).flatten(2)) + x
        return {"hidden": y, "pooled": y.mean(1)}


def _attention() -> Case:
    def call() -> tuple[Tensor, Tensor]:
        mask = torch.rand(2, 40) > 0.2
        mask[:, 0] = True
        return torch.randint(100, (2, 40)), mask

    return Case(_Attention().eval(), (call(), call()))


class _Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(8))
        self.table: Tensor
        self.register_buffer("table", torch.arange(8.0))

    def forward(self, x: Tensor, cache: Tensor) -> Tensor:
        self.seen.add_(x.sum(0))
        cache[1] = x[0] * self.table
        return self.seen * 2 + cache.sum(0)


def _mutation() -> Case:
    return Case(_Counter(), tuple((torch.randn(3, 8), torch.zeros(2, 8)) for _ in range(3)))


def _selection(x: Tensor) -> tuple[Tensor, Tensor]:
    kept = x[x > 0.5]
    return kept.sort().values * 2, torch.nonzero(x > 0)


def _data_dependent() -> Case:
    return Case(_selection, tuple((torch.randn(n, 5),) for n in (7, 7)))


def _branches(x: Tensor, steps: Tensor) -> Tensor:
    y = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos() * 2, (x,))
    _, y = torch.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y * 0.5 + steps), (torch.tensor(0), y)
    )
    return y


def _control_flow() -> Case:
    return Case(_branches, ((torch.ones(6), torch.ones(6)), (-torch.ones(6), torch.randn(6))))


def _structures(pair: dict[str, Tensor], scale: float, *, shift: Tensor) -> Any:
    first = pair["a"] * scale + shift
    return {"both": (first, pair["b"]), "none": None, "same": first}


def _views(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    y = x + 1
    return y, y[1:], x.t()


@dataclass
class Scores:
    """Unknown to the process that loads the artifact."""

    logits: Tensor
    loss: Tensor | None = None


def _foreign(x: Tensor) -> Scores:
    return Scores(x.softmax(-1))


class Pair(NamedTuple):
    low: Tensor
    high: Tensor


def _pair(x: Tensor) -> Pair:
    return Pair(x.amin(-1), x.amax(-1))


CASES: dict[str, Callable[[], Case]] = {
    "mlp": _mlp,
    "convolutions": _convolutions,
    "attention": _attention,
    "mutation": _mutation,
    "data_dependent": _data_dependent,
    "control_flow": _control_flow,
    "dataclass": lambda: Case(_foreign, ((torch.randn(4, 3),),)),
    "namedtuple": lambda: Case(_pair, ((torch.randn(4, 3),),)),
    "views": lambda: Case(_views, ((torch.randn(4, 3),), (torch.randn(4, 3),))),
}
