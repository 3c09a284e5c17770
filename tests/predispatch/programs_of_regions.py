"""Programs with regions: no_grad, enable_grad, set_grad_enabled, inference_mode and autocast,
nested or exited in another order, with writes to tensors from outside."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .cases import case


@case((4,), grad=False)
def the_seeds_example(x: Tensor) -> Any:
    with torch.no_grad():
        x.mul_(2)
        y = x * x
    return y


@case((4,))
def seed_on_an_intermediate(x: Tensor) -> Any:
    z = torch.ones(4) * x
    with torch.no_grad():
        z.mul_(2)
        y = z * z
    return y + z


@case((4,))
def write_to_a_leaf_under_no_grad(x: Tensor) -> Any:
    with torch.no_grad():
        x.mul_(3)
    return x.sin()


@case((4,))
def enable_grad_inside_no_grad(x: Tensor) -> Any:
    with torch.no_grad():
        a = x * 2
        with torch.enable_grad():
            b = x * 3
        c = b * a
    return a + b + c


@case((4,))
def write_then_enable_grad_inside(x: Tensor) -> Any:
    y = x * 2
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        y.mul_(3)
        with torch.enable_grad():
            z = y * 2
    return z + y


@case((4,))
def set_grad_as_a_call(x: Tensor) -> Any:
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    y = x * 2
    torch.set_grad_enabled(before)
    return y * x


@case((4,))
def region_that_changes_nothing(x: Tensor) -> Any:
    with torch.enable_grad():
        y = x * 2
    with torch.autocast("cpu", enabled=False):
        return y + 1


@case((4,), grad=False)
def inference_mode_reads(x: Tensor) -> Any:
    with torch.inference_mode():
        y = x * 2
        y.add_(1)
        z = y[1:] * 3
    return x + 1, z.clone()


@case((4,), grad=False)
def inference_mode_writes_outer(x: Tensor) -> Any:
    y = x * 2
    with torch.inference_mode():
        y.mul_(3)
        x.add_(1)
    return y + x


@case((4, 4), (4, 4))
def autocast_matmul(x: Tensor, w: Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ w
        z = F.linear(x, w)
        s = F.softmax(y, dim=-1)
    return y, z + s


@case((4, 4), (4, 4))
def autocast_disabled_inside(x: Tensor, w: Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ w
        with torch.autocast("cpu", enabled=False):
            z = y.float() @ w
        u = z @ w
    return y, z, u


@case((4, 4), (4, 4))
def autocast_half_inside_bfloat(x: Tensor, w: Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
        y = x @ w
        with torch.autocast("cpu", dtype=torch.float16):
            z = x @ w
    return y, z


@case((4, 4), (4, 4))
def autocast_writes_outer_under_no_grad(x: Tensor, w: Tensor) -> Any:
    y = x * 1
    with torch.autocast("cpu", dtype=torch.bfloat16):
        p = y @ w
        with torch.no_grad():
            y.add_(p)
        q = y @ w
    return q, y


@case((4, 4), (4, 4))
def in_place_product_is_not_autocast(x: Tensor, w: Tensor) -> Any:
    y = x * 1
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y.addmm_(x, w)
        z = torch.addmm(y, x, w)
    return y, z


@case((4, 4))
def autocast_of_another_device(x: Tensor) -> Any:
    with torch.autocast("cuda", dtype=torch.float16):
        return x @ x


@case((4, 4))
def states_left_in_another_order(x: Tensor) -> Any:
    cast = torch.autocast("cpu", dtype=torch.bfloat16)
    stop = torch.no_grad()
    cast.__enter__()
    a = x @ x
    stop.__enter__()
    b = x @ a.float()
    cast.__exit__(None, None, None)
    c = x @ x
    stop.__exit__(None, None, None)
    return a, b, c, x @ x
