"""Modules that write to their state, and autograd and autocast states that span modules."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .cases import case


class _Quiet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


@case((2, 4))
class NoGradAcrossModules(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.quiet = _Quiet()
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Any:
        return self.head(self.quiet(x) + x)


@case((2, 4))
class HooksEnterAndLeave(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.cast = torch.autocast("cpu", dtype=torch.bfloat16)
        self.inner.register_forward_pre_hook(self.enter)
        self.inner.register_forward_hook(self.leave)

    def enter(self, *_: Any) -> None:
        self.cast.__enter__()

    def leave(self, *_: Any) -> None:
        self.cast.__exit__(None, None, None)

    def forward(self, x: Tensor) -> Any:
        return self.inner(x).float() @ x.t()


@case((6, 3, 4, 4))
class TrainedBatchNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 5, 3)
        self.norm = nn.BatchNorm2d(5)

    def forward(self, x: Tensor) -> Any:
        return F.relu(self.norm(self.conv(x)), inplace=True)


@case((6, 3, 4))
class TrainedInstanceNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.InstanceNorm1d(3, affine=True, track_running_stats=True)

    def forward(self, x: Tensor) -> Any:
        return self.norm(x)


@case((8, 16))
class DropoutTrained(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 16), nn.Dropout(0.3), nn.RReLU(inplace=True))

    def forward(self, x: Tensor) -> Any:
        return self.body(x) + F.dropout(x, 0.5, training=False)


@case((4,))
class CountsItsCalls(nn.Module):
    calls: Tensor
    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x: Tensor) -> Any:
        with torch.no_grad():
            self.calls += 1
            self.mean.lerp_(x, 0.1)
        return (x - self.mean) * self.calls


@case((4,))
class WeightDecaysItself(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4))

    def forward(self, x: Tensor) -> Any:
        with torch.no_grad():
            self.weight.mul_(0.9)
        return self.weight * x


@case((4,))
class BufferSlicesAndReturnsThem(nn.Module):
    store: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("store", torch.zeros(3, 4))

    def forward(self, x: Tensor) -> Any:
        with torch.no_grad():
            self.store[1].copy_(x)
        return self.store[1:], self.store.sum() + x


@case((5, 3))
class TrainsALittle(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTM(3, 4, batch_first=True)
        self.head = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Any:
        out, _ = self.cell(x[None])
        return self.head(out[0])
