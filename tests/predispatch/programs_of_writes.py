"""Programs that write: through views of every kind, to aliases, to inputs, and by ops whose schemas
do not declare it."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .cases import case


@case((4,), (4,))
def write_through_a_view(x: Tensor, w: Tensor) -> Any:
    y = x * 2
    y[1:3].mul_(w[1:3])
    return y.sum() + y[0]


@case((4, 5))
def write_through_two_views(x: Tensor) -> Any:
    y = x * 1
    a = y.t()[1:]
    b = y[:, 2]
    a.add_(1)
    b.mul_(3)
    return y, a * 2, b * 2


@case((3, 4))
def view_sees_a_later_write(x: Tensor) -> Any:
    y = x * 1
    v = y[1]
    y.mul_(2)
    return v * 3


@case((3, 4))
def view_made_under_no_grad_is_read(x: Tensor) -> Any:
    y = x * 1
    with torch.no_grad():
        v = y[1]
    return v * 3 + y.sum()


@case((3, 4))
def base_written_after_a_view_under_no_grad(x: Tensor) -> Any:
    y = x * 1
    with torch.no_grad():
        v = y[1]
        v.add_(2)
    return y * y, y.sum()


@case((3, 4))
def write_to_a_view_under_no_grad_of_outer(x: Tensor) -> Any:
    y = x * 2
    v = y[0]
    with torch.no_grad():
        v.mul_(5)
        y[2].zero_()
    return y * 2 + v


@case((4,))
def detached_alias_is_written(x: Tensor) -> Any:
    y = x * 2
    d = y.detach()
    d.mul_(3)
    return y * 2, d


@case((4,), (4,))
def detached_alias_gets_a_history(x: Tensor, w: Tensor) -> Any:
    y = x * 2
    d = y.detach()
    d.mul_(w)
    return y * 2, d * 3


@case((4,))
def base_of_a_detached_alias_is_written(x: Tensor) -> Any:
    y = x * 2
    d = y.detach()
    y.mul_(3)
    return d * 2, y


@case((4,))
def data_is_written(x: Tensor) -> Any:
    y = x * 2
    y.data.mul_(3)
    return y * y.data


@case((3, 4), grad=False)
def input_view_is_returned(x: Tensor) -> Any:
    x[0].add_(1)
    v = x[1:]
    return v, x


@case((3, 4), (4,), grad=False)
def two_inputs_are_written(x: Tensor, y: Tensor) -> Any:
    x.add_(y)
    y.copy_(x[0])
    return x * y


@case((3, 4), grad=False)
def inputs_swap_contents(x: Tensor) -> Any:
    a, b = x[0], x[1]
    c = a.clone()
    a.copy_(b)
    b.copy_(c)
    return x[0] - x[1]


@case((3, 4))
def out_of_an_op(x: Tensor) -> Any:
    with torch.no_grad():
        y = torch.empty(3, 4)
        torch.mul(x, 2, out=y)
        torch.sum(x, dim=1, out=y[:, 0])
    return y * x


@case((6,))
def views_of_every_kind(x: Tensor) -> Any:
    y = (x * 1).view(2, 3)
    y.unsqueeze(0).transpose(1, 2)[0, 1].add_(1)
    with torch.no_grad():
        first, second = y.split([1, 2], dim=1)
        second.mul_(2)
        first.squeeze(1).sub_(1)
    y.diagonal().add_(5)
    y.flatten()[::2].mul_(3)
    y.unfold(1, 1, 1)[0].add_(1)
    with torch.no_grad():
        a, b = y.unbind()
        a.mul_(b)
    return y, y.squeeze(0) * 2


@case((6,))
def tensor_object_changes_shape(x: Tensor) -> Any:
    y = (x * 1).view(2, 3)
    z = y.t_()
    z.unsqueeze_(0)
    z.mul_(2)
    y.squeeze_()
    return y * 2, z


@case((3, 4))
def masked_and_indexed(x: Tensor) -> Any:
    y = x * 1
    y[y > 0] = 0.5
    y[[0, 2]] += 1
    y[:, 1] = x[:, 0]
    y.index_fill_(1, torch.tensor([3]), 2.0)
    return y.cumsum_(0)


@case((3, 4))
def complex_parts(x: Tensor) -> Any:
    z = torch.view_as_complex((x * 1).view(3, 2, 2))
    z.real.mul_(2)
    z.imag.add_(1)
    return torch.view_as_real(z) * x.view(3, 2, 2)


@case((3, 4))
def reshape_that_copies_and_that_does_not(x: Tensor) -> Any:
    y = x * 1
    a = y.reshape(4, 3)
    b = y.t().reshape(12)
    c = y.contiguous().to(torch.float32)
    a.add_(1)
    b.add_(2)
    c.mul_(3)
    return y, a * 1, b


@case((4, 4))
def composites_stay(x: Tensor) -> Any:
    y = F.layer_norm(x, (4,))
    z = torch.einsum("ij,kj->ik", y, x)
    q = F.scaled_dot_product_attention(x[None], y[None], z[None])
    return F.cross_entropy(q[0], torch.tensor([0, 1, 2, 3])) + F.gelu(z).sum()


@case((4,), grad=False)
def random_in_place(x: Tensor) -> Any:
    a = torch.empty(5).uniform_(1, 2)
    b = torch.zeros(5).normal_()
    x.bernoulli_(0.5)
    return a + b, x


@case((4,))
def integers_count(x: Tensor) -> Any:
    n = torch.zeros(4, dtype=torch.int64)
    n[1:] += 2
    with torch.no_grad():
        n.add_((x > 0).long())
    return x * n, n


@case((3, 4))
def foreach_writes(x: Tensor) -> Any:
    a, b = x * 1, x * 2
    with torch.no_grad():
        torch._foreach_mul_([a, b], 3.0)
    return a + b


@case((4, 6))
def hardly_any_memory_left(x: Tensor) -> Any:
    y = x * 1
    w = y[:, 2:4].movedim(0, 1)
    w[0].mul_(2)
    with torch.no_grad():
        y.narrow(1, 0, 2).fill_(1)
        y.chunk(3, dim=1)[2].zero_()
    return y, w * 1
