"""Programs that write, alias and change state in every combination: mutation × region × alias ×
control flow × module state. Each is a function or module with its arguments; `grad` says whether
eager can be differentiated through it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from functorch.experimental import control_flow
from torch import Tensor, nn


@dataclass(frozen=True)
class Case:
    name: str
    build: Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]
    grad: bool = True


CASES: list[Case] = []


def case(*shapes: tuple[int, ...], grad: bool = True) -> Callable[[Any], Any]:
    """Register a function of float tensors of these shapes, or a module class."""

    def register(made: Any) -> Any:
        def build() -> tuple[Callable[..., Any], tuple[Any, ...]]:
            torch.manual_seed(7)
            function = made() if isinstance(made, type) else made
            args = tuple(torch.randn(shape).requires_grad_(grad) for shape in shapes)
            return function, args

        CASES.append(Case(made.__name__, build, grad))
        return made

    return register


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


@case((5, 3))
class TrainsALittle(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTM(3, 4, batch_first=True)
        self.head = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Any:
        out, _ = self.cell(x[None])
        return self.head(out[0])


@case((4, 6))
def hardly_any_memory_left(x: Tensor) -> Any:
    y = x * 1
    w = y[:, 2:4].movedim(0, 1)
    w[0].mul_(2)
    with torch.no_grad():
        y.narrow(1, 0, 2).fill_(1)
        y.chunk(3, dim=1)[2].zero_()
    return y, w * 1


class _Steep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.slope = slope
        return x.sin()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grads[0] * ctx.slope * x, None


class _Exponential(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:  # type: ignore[override]
        return x.exp().add_(1)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        grad = grads[0] * 2
        grad.mul_(ctx.saved_tensors[0])
        return grad


class _Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return -grads[0]


class _Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Any:
        whole = (x / scale).round()
        ctx.mark_non_differentiable(whole)
        ctx.set_materialize_grads(False)
        ctx.scale = scale
        return whole * scale, whole, x > 0

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * 3, (grads[0] * ctx.scale).sum(0) if ctx.needs_input_grad[1] else None


@case((3, 4))
def autograd_functions(x: Tensor) -> Any:
    y = _Steep.apply(x * 2, 10.0)
    return _Exponential.apply(y) + _Reversed.apply(x)


@case((3, 4), (4,))
def autograd_function_with_several_results(x: Tensor, scale: Tensor) -> Any:
    near, whole, positive = _Rounded.apply(x, scale)
    return near * 2, whole, positive


@case((3, 4))
def autograd_function_result_is_written(x: Tensor) -> Any:
    y = _Steep.apply(x, 3.0)
    y[1:].mul_(2)
    with torch.no_grad():
        z = _Steep.apply(x, 5.0)
        y.add_(z)
    return y, z


@case((3, 4))
def autograd_function_under_autocast(x: Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = _Steep.apply(x @ x.t(), 2.0)
    return y @ y


@case((3, 4))
class AutogradFunctionOfAParameter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4))

    def forward(self, x: Tensor) -> Any:
        return _Rounded.apply(x, self.weight)[0] + _Steep.apply(self.weight, 0.5)
