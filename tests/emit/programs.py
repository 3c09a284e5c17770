"""Small programs that have broken exporters. Each entry holds the program, its arguments and
further arguments of export.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim

aten = torch.ops.aten

DIALECTS = ("torch", "linalg", "tosa", "stablehlo")


@dataclass(frozen=True)
class Case:
    run: Callable[..., Any]
    args: tuple[Any, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    """Arguments of ingot.export."""
    refused: dict[str, str] = field(default_factory=dict)
    """Dialects that refuse the program, with the expected error message."""


class Constants(nn.Module):
    """Constants of every dtype, as attributes of the module and as literals."""

    def __init__(self, dtype: torch.dtype):
        super().__init__()
        values = torch.tensor([0.0, 1.0, 2.0, 1.0])
        self.held = values.to(dtype)
        self.dtype = dtype

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        real = self.held.real if self.dtype.is_complex else self.held
        return x + real.to(torch.float32), self.held.clone()


def lifted(x: Tensor) -> Tensor:
    made = x + torch.tensor([1.0, 2.0, 3.0]) + torch.tensor(2.0) + torch.tensor([1, 2, 3])
    return aten.lift_fresh_copy(aten.lift(made).detach()) + aten.alias(made)


def branch(x: Tensor) -> Tensor:
    return torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos() + 1, (x,))


def nested_branch(x: Tensor, flag: Tensor) -> Tensor:
    def inner(y: Tensor) -> Tensor:
        return torch.cond(y.max() > 1, lambda z: z - 1, lambda z: F.gelu(z) * 3, (y,))

    return torch.cond(flag, inner, lambda y: -y, (x,))


def loop(x: Tensor, n: Tensor) -> tuple[Tensor, Tensor]:
    from torch._higher_order_ops import while_loop

    return while_loop(lambda y, i: i > 0, lambda y, i: (y * 2 + 1, i - 1), (x, n))


def no_grad_region(x: Tensor, w: Tensor) -> Tensor:
    with torch.no_grad():
        y = x @ w
    return y.relu() + x


def autocast_region(x: Tensor, w: Tensor) -> Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ w
    return y.float() + x


def doubled_from(x: Tensor) -> Tensor:
    y = x + 1
    y[1:] = y[1:] * 2
    y.t()[2:].neg_()
    y[1::2] = 0
    return y


def writes_through_a_view(x: Tensor) -> tuple[Tensor, Tensor]:
    x.t().mul_(2)
    return x[1:].unsqueeze(0), x.t() + 1


def writes_to_input(x: Tensor) -> Tensor:
    x.mul_(2)
    x[0] = 1
    return x.sum()


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls: Tensor
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return self.norm(x) * self.calls


def conversions(x: Tensor) -> tuple[Tensor, ...]:
    return (
        x.to(torch.int32), x.to("cpu"), x.to(torch.float64, copy=True), x.type(torch.int64),
        x.to(torch.ones(1, dtype=torch.int64)), x.double().float(), x.bool(), x.half().float(),
    )  # fmt: skip


def factories(x: Tensor) -> tuple[Tensor, ...]:
    return (
        torch.arange(5), torch.arange(0.0, 1.0, 0.25), torch.arange(1, 9, 2, dtype=torch.float32),
        torch.full((2, 3), 7), torch.full((2,), 1.5), torch.full((2,), True), x.new_full((2,), 3),
        torch.full((2, 2), x.sum().item() if False else 2.5), torch.zeros(3, dtype=torch.int32),
        torch.ones_like(x), torch.full_like(x, 4), torch.eye(3), torch.linspace(0, 1, 5),
        torch.scalar_tensor(3.0) + x,
    )  # fmt: skip


def numbers_of_tensors(x: Tensor) -> tuple[Tensor, ...]:
    """Fill values and factors read from tensors."""
    total = x.sum()
    return (
        torch.full((2, 3), total), torch.full((2,), total, dtype=torch.int64),
        torch.full_like(x, total.item()), x * total.item() + x.mean().item(),
        x * (x > 0).sum().item(), 
        x.new_full((2, 2), torch.tensor(3.0)), x + True,  # type: ignore[arg-type]
    )  # fmt: skip


def views(x: Tensor) -> tuple[Tensor, ...]:
    return (
        x.squeeze(), x.squeeze(1), x.squeeze((0, 1, -1)), x.logsumexp((0, 2)), x.roll(1, 2),
        x.roll(-4), x.roll((1, -1), (0, 2)), x[:, 0, :, 0].diagonal(), x.unfold(2, 2, 1),
        x.expand(2, 4, 3, 1).diagonal(-1, 1, 2), *x.unbind(2), *x.split(2, 2), x.flip(0, 2),
        x.movedim(0, 3), x.as_strided((2, 3), (3, 1)), x.repeat(1, 2, 1, 2),
    )  # fmt: skip


def pools(x: Tensor) -> tuple[Tensor, ...]:
    return (
        F.max_pool2d(x, 2), F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2), F.avg_pool2d(x, 3, 2, 1),
        F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (2, 2)), F.avg_pool2d(x, [2, 2], []),
        F.max_pool2d(x, [2], []),
    )  # fmt: skip


def convolution_backward(mask: tuple[bool, bool, bool]) -> Callable[..., Any]:
    def run(grad: Tensor, x: Tensor, w: Tensor) -> list[Tensor]:
        made = aten.convolution_backward(
            grad, x, w, [4], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, list(mask)
        )
        return [t for t in made if t is not None]

    return run


def complex_numbers(x: Tensor) -> tuple[Tensor, Tensor]:
    z = torch.complex(x, x * 2)
    w = z * z + 1j
    return w.real, w.abs()


class ComplexModule(nn.Module):
    """Complex weights, constants, arguments and results."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 3, dtype=torch.complex64))
        self.held = torch.randn(100, dtype=torch.complex64)

    def forward(self, z: Tensor) -> tuple[Tensor, ...]:
        y = (z @ self.weight) * self.held[:3].conj() - z / (2 + 1j) + 1j
        y = torch.cat([y, z]).exp()
        return y, (y * y).sum(0), torch.view_as_real(y.T), y.mean(), y == y.conj()


def rotary(x: Tensor, angles: Tensor) -> Tensor:
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2)


class TrainingStep(nn.Module):
    """A loss and all gradients, through convolution, normalisation and pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3, padding=1), nn.GroupNorm(2, 4)
        self.head = nn.Linear(4, 5)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        y = F.silu(self.norm(self.conv(x)))
        return F.cross_entropy(self.head(y.mean((2, 3))), target)


VALUE_SIZES = dict.fromkeys(("tosa", "stablehlo"), "its size depends on values")
WAVES = torch.randn(3, 96, 2)

SMALL: dict[str, Case] = {
    "pools": Case(pools, (torch.randn(1, 3, 8, 8),)),
    "lift": Case(lifted, (torch.randn(3),)),
    "conversions": Case(conversions, (torch.randn(3, 4),)),
    "factories": Case(factories, (torch.randn(3, 4),)),
    "numbers of tensors": Case(numbers_of_tensors, (torch.randn(3, 4),)),
    "views": Case(views, (torch.randn(2, 1, 3, 1),)),
    "nonzero": Case(
        lambda x: x.nonzero(), (torch.tensor([1.0, 0.0, 2.0, 0.0]),), refused=VALUE_SIZES
    ),
    "mask sum": Case(lambda x: x[x > 0].sum(), (torch.randn(6),)),
    "unique": Case(
        lambda x: torch.unique(x, return_inverse=True, return_counts=True),
        (torch.tensor([3, 1, 3, 2, 1]),),
        refused=VALUE_SIZES,
    ),
    "cond": Case(branch, (torch.randn(3),)),
    "nested cond": Case(nested_branch, (torch.randn(3), torch.tensor(True))),
    "while_loop": Case(loop, (torch.randn(3), torch.tensor(4))),
    "no_grad": Case(no_grad_region, (torch.randn(4, 4), torch.randn(4, 4, requires_grad=True))),
    "autocast": Case(autocast_region, (torch.randn(4, 4), torch.randn(4, 4))),
    "input mutation": Case(writes_to_input, (torch.randn(3, 4),)),
    "slices without an end": Case(doubled_from, (torch.randn(3, 4),)),
    "a view of a written input": Case(writes_through_a_view, (torch.randn(3, 4),)),
    "buffers": Case(Counter(), (torch.randn(5, 4),)),
    "complex": Case(complex_numbers, (torch.randn(3),)),
    "complex module": Case(ComplexModule(), (torch.randn(2, 3, dtype=torch.complex64),)),
    "angle": Case(lambda x: torch.complex(x, -x).angle(), (torch.randn(3),)),
    "fft": Case(lambda x: torch.fft.fft(x).abs(), (torch.randn(4, 8),)),
    "fft filter": Case(lambda x: torch.fft.irfft(torch.fft.rfft(x, dim=1) * 0.5j, dim=1), (WAVES,)),
    "stft": Case(
        lambda x: torch.stft(x, 40, 10, window=torch.hann_window(40), return_complex=True).abs(),
        (torch.randn(2, 160),),
    ),
    "inverse": Case(lambda x: torch.linalg.inv(x) @ x.sum(0), (torch.randn(2, 4, 4),)),
    "embedding_bag": Case(
        lambda w, i, o: F.embedding_bag(i, w, o, mode="mean"),
        (torch.randn(9, 4), torch.tensor([1, 8, 0, 3, 3]), torch.tensor([0, 2, 2])),
    ),
    "cdist": Case(torch.cdist, (torch.randn(2, 5, 3), torch.randn(2, 4, 3))),
    "rotary": Case(rotary, (torch.randn(2, 3, 8), torch.randn(3, 4))),
    "dynamic": Case(
        lambda x, y: torch.cat([x, y]).softmax(-1) @ y.T,
        (torch.randn(5, 4), torch.randn(3, 4)),
        {"dynamic_shapes": ({0: Dim("n", max=512)}, {0: Dim("m")})},
    ),
    "cumulative": Case(lambda x: (x.cumsum(1), x.cumprod(0)), (torch.randn(3, 5),)),
    "sort": Case(lambda x: x.sort(descending=True), (torch.randn(3, 5),)),
    "topk": Case(lambda x: x.topk(2), (torch.randn(3, 5),)),
    "index_put": Case(
        lambda x, i, v: x.index_put((i,), v, accumulate=True),
        (torch.randn(4, 3), torch.tensor([0, 2, 0]), torch.randn(3, 3)),
    ),
    "scatter_add": Case(
        lambda x, i, v: x.scatter_add(0, i, v),
        (torch.randn(4, 3), torch.tensor([[0, 1, 2], [3, 1, 0]]), torch.randn(2, 3)),
    ),
}
SMALL["training step"] = Case(
    TrainingStep(),
    (torch.randn(2, 3, 8, 8), torch.tensor([1, 2])),
    {"train": True},
)
SMALL |= {
    f"constants {str(dtype).removeprefix('torch.')}": Case(Constants(dtype), (torch.randn(4),))
    for dtype in (
        torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn,
        torch.float8_e5m2, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
        torch.bool, torch.complex64, torch.complex128, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz,
    )
}  # fmt: skip
SMALL |= {
    f"constants {str(dtype).removeprefix('torch.')}": Case(
        Constants(dtype),
        (torch.randn(4),),
        refused=dict.fromkeys(DIALECTS, "has no unsigned integers of more than 8 bits"),
    )
    for dtype in (torch.uint16, torch.uint32, torch.uint64)
}
MASKS = [(a, b, c) for a in (True, False) for b in (True, False) for c in (True, False)]
SMALL |= {
    f"convolution_backward {a:d}{b:d}{c:d}": Case(
        convolution_backward((a, b, c)),
        (torch.randn(2, 4, 6, 6), torch.randn(2, 3, 6, 6), torch.randn(4, 3, 3, 3)),
    )
    for a, b, c in MASKS
}
