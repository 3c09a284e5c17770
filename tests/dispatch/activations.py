"""A dispatch of three variants: sin up to 512, tanh up to 2048, relu above."""

from __future__ import annotations

import torch
from torch import Tensor

import ingot
from ingot.dispatch.declare import Dispatch

SIZES = (256, 512, 513, 1024, 2048, 2049, 4096)


def three_ways(x: Tensor) -> Tensor:
    if x.shape[1] <= 512:
        return x.sin()
    if x.shape[1] <= 2048:
        return x.tanh()
    return x.relu()


def make_activation() -> Dispatch:
    """Pinned, because the implementations do not equal the reference everywhere."""

    @ingot.dispatch(on=("x", 1), ranges=[512, 2048])
    def activation(x: Tensor) -> Tensor:
        return three_ways(x)

    @activation.implementation(when="x.shape[1] <= 512")
    def short(x: Tensor) -> Tensor:
        return x.sin()

    @activation.implementation()
    def middle(x: Tensor) -> Tensor:
        return x.tanh()

    @activation.implementation(name="long")
    def rectified(x: Tensor) -> Tensor:
        return x.relu()

    activation.pin({(1, 512): "short", (513, 2048): "middle", (2049, None): "long"})
    return activation


activation = make_activation()


def around(x: Tensor) -> Tensor:
    return activation(x * 2) + 1


def expected(x: Tensor) -> Tensor:
    return three_ways(x * 2) + 1


def rows(n: int) -> Tensor:
    return torch.randn(3, n)
