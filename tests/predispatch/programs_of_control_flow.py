"""Control flow whose bodies write to captured tensors."""

from __future__ import annotations

from typing import Any

import torch
from functorch.experimental import control_flow
from torch import Tensor

from .cases import case


@case((4,))
def cond_writes_what_it_captures(x: Tensor) -> Any:
    y = x * 1
    with torch.no_grad():

        def yes(x: Tensor) -> Tensor:
            y.add_(1)
            return x.sin()

        def no(x: Tensor) -> Tensor:
            y[1:].mul_(2)
            return x.cos()

        r = torch.cond(x.sum() > 0, yes, no, (x,))
    return r + y


@case((4,), grad=False)
def while_loop_writes_what_it_captures(x: Tensor) -> Any:
    y = x * 1

    def goes_on(i: Tensor, z: Tensor) -> Tensor:
        return i < 3

    def body(i: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        y.mul_(2)
        return i + 1, z + y

    i, z = torch.while_loop(goes_on, body, (torch.tensor(0), x))
    return i, z, y


@case((4,))
def cond_writes_under_autograd(x: Tensor) -> Any:
    y = x * 1

    def yes(x: Tensor) -> Tensor:
        y.mul_(x)
        return x.sin()

    def no(x: Tensor) -> Tensor:
        with torch.no_grad():
            y[1:].mul_(2)
        return x.cos()

    v = y[2:]
    r = torch.cond(x.sum() > 0, yes, no, (x,))
    return r + y, v * 2


@case((4,))
def cond_inside_cond(x: Tensor) -> Any:
    y = x * 1

    def inner(x: Tensor) -> Tensor:
        y.add_(x)
        return x * 2

    def yes(x: Tensor) -> Tensor:
        y.mul_(2)
        return torch.cond(y.sum() > 3, inner, lambda x: x * 3, (x,))

    return torch.cond(x.sum() < 3, yes, lambda x: x * 4, (x,)) + y


@case((3, 4))
def map_writes_what_it_captures(x: Tensor) -> Any:
    total = torch.zeros(4)

    def body(row: Tensor) -> Tensor:
        total.add_(row)
        return row * total.clone()

    return control_flow.map(body, x), total


@case((3, 4), grad=False)
def while_loop_writes_a_buffer_view(x: Tensor) -> Any:
    def body(i: Tensor) -> tuple[Tensor]:
        with torch.no_grad():
            x[1].mul_(2)
        return (i + 1,)

    (i,) = torch.while_loop(lambda i: i < 3, body, (torch.tensor(0),))
    return i, x.sum()


@case((4, 4))
def cond_inside_autocast(x: Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = torch.cond(x.sum() > 0, lambda x: (x @ x).float(), lambda x: (x @ x.t()).float(), (x,))
        return y @ x
