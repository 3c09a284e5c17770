"""Memory layouts of inputs: strided, transposed, offset, overlapping, expanded, channels last,
empty, 0-dim, many-dimensional."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .check import check

BASE = torch.arange(120.0).sin()
LAYOUTS: dict[str, Tensor] = {
    "contiguous": BASE[:24].view(4, 6),
    "transposed": BASE[:24].view(6, 4).t(),
    "sliced": BASE.view(10, 12)[1:9:2, ::2],
    "offset": BASE[7:31].view(4, 6),
    "offset columns": BASE.view(10, 12)[:4, 5:11],
    "expanded": BASE[:6].expand(4, 6),
    "expanded columns": BASE[:4, None].expand(4, 6),
    "one number expanded": BASE[3].expand(4, 6),
    "overlapping": BASE.as_strided((4, 6), (1, 1)),
    "overlapping windows": BASE.unfold(0, 6, 3)[:4],
    "flipped by stride": BASE[:24].view(4, 6).flip(0),
    "permuted": BASE[:24].view(2, 6, 2).permute(0, 2, 1).reshape(4, 6),
    "padded rows": torch.empty(4, 8).copy_(BASE[:32].view(4, 8))[:, :6],
}
FUNCTIONS: dict[str, Callable[[Tensor], object]] = {
    "pointwise": lambda x: x.exp() * 2 + x,
    "softmax": lambda x: x.softmax(-1),
    "sum": lambda x: (x.sum(0), x.sum(1), x.sum()),
    "transposed": lambda x: x.t().contiguous() + x.t(),
    "broadcast": lambda x: x + x[:, :1] * x[0],
    "views": lambda x: x[1:, ::2].reshape(-1) * 2,
    "clone": lambda x: (x.clone(), x.contiguous(), x.clone(memory_format=torch.contiguous_format)),
    "product": lambda x: x @ x.t() + 1,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str) -> None:
    def everything(x: Tensor) -> list[object]:
        return [function(x) for function in FUNCTIONS.values()]

    check(everything, LAYOUTS[layout])
    check(everything, LAYOUTS[layout], dynamic=True)


def test_two_layouts_at_once() -> None:
    x, y = LAYOUTS["transposed"], LAYOUTS["sliced"]
    check(lambda x, y: (x + y, (x * y).sum(0), torch.where(x > y, x, y)), x, y)


@pytest.mark.parametrize("format", [torch.channels_last, torch.contiguous_format], ids=str)
def test_channels_last(format: torch.memory_format) -> None:
    x = torch.randn(2, 3, 4, 5).to(memory_format=format)
    check(lambda x: (x.relu() + 1, x * torch.full((2, 3, 4, 5), 2.0), x.mean((2, 3))), x)
    conv = torch.nn.Conv2d(3, 4, 3)
    check(lambda x: F.relu(conv(x)) * 2, x)
    check(lambda x: x.to(memory_format=torch.channels_last) * 2, x)


CONCATENATED: dict[str, Callable[[Tensor], list[Tensor]]] = {
    "one": lambda x: [x],
    "two": lambda x: [x, x + 1],
    "one and an empty one": lambda x: [torch.tensor([]), x],
    "two and an empty one": lambda x: [x, torch.tensor([]), x * 2],
    "an empty one of another dtype": lambda x: [x, torch.tensor([], dtype=torch.float64)],
    "another dtype": lambda x: [x, x.double()],
    "another layout": lambda x: [x, x.contiguous() + 1],
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CONCATENATED)
def test_concatenations(name: str, dynamic: bool) -> None:
    def joined(*given: Tensor) -> list[Tensor]:
        return [torch.cat(CONCATENATED[name](x), -2) for x in given]

    images = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    heads = torch.randn(2, 12, 3, 16).transpose(1, 2)
    check(joined, images, heads, LAYOUTS["transposed"], LAYOUTS["sliced"], dynamic=dynamic)


def test_channels_last_3d() -> None:
    x = torch.randn(1, 2, 3, 4, 5).to(memory_format=torch.channels_last_3d)
    check(lambda x: x.sigmoid() + x.mean(), x)


@pytest.mark.parametrize("shape", [(0,), (0, 4), (4, 0), (2, 0, 3), (1, 0, 1)], ids=str)
def test_no_elements(shape: tuple[int, ...]) -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        y = x.exp() + 1
        return y, y.sum(), y.sum(0), y.sum(-1), y.prod(), (y > 0).any(), torch.cat([y, y])

    check(function, torch.empty(shape))


def test_no_elements_in_a_network() -> None:
    check(lambda x, w: F.layer_norm(x @ w, (4,)).softmax(-1), torch.empty(0, 3), torch.randn(3, 4))
    check(lambda x, w: (x @ w).relu(), torch.empty(2, 0), torch.empty(0, 4))
    check(lambda x: F.conv2d(x, torch.ones(2, 3, 1, 1)).relu(), torch.empty(0, 3, 4, 4))


def test_no_elements_with_gradients() -> None:
    check(lambda x: (x * 2).softmax(-1).sum(), torch.empty(0, 3, requires_grad=True), grad=True)


def test_no_dimensions() -> None:
    check(lambda x, y: (x + y, x.sum(), x.softmax(0), x.max()), torch.tensor(2.0), torch.tensor(3))
    check(lambda x: x.exp() * torch.ones(3), torch.tensor(2.0))


def test_many_dimensions() -> None:
    x = torch.randn(2, 1, 3, 1, 2, 1, 2, 3)
    check(lambda x: (x * 2).permute(7, 0, 6, 1, 5, 2, 4, 3).sum((0, 3)) + 1, x)


def test_one_dimension_large() -> None:
    check(lambda x: (x * 2 + 1).sqrt(), torch.rand(1_000_003))


def test_view_of_another_dtype() -> None:
    check(lambda x: x.view(torch.int32) + 1, torch.randn(6))
    check(lambda x: (x.view(torch.uint8) * 2, x.view(torch.float16)), torch.randn(3, 4))


def test_bool_and_small_integers() -> None:
    m, i = torch.tensor([[True, False], [True, True]]), torch.tensor([[1, 200], [3, 255]])
    check(lambda m, i: (m.sum(), ~m, m & m.t(), m * i, i.to(torch.uint8) + 1, m.float()), m, i)
    small = torch.tensor([100, 100], dtype=torch.int8)
    check(lambda x: (x + x, x.sum(), x * 3, x // 7, x.float().mean()), small)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_other_floats(dtype: torch.dtype) -> None:
    x = torch.randn(5, 33, dtype=dtype)
    check(lambda x: (x.exp() + 1, x.softmax(-1), x.sum(0), F.layer_norm(x, (33,)), F.gelu(x)), x)


def test_numbers_at_the_edge() -> None:
    x = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e38, 1e-45, -1e-40])
    check(
        lambda x: (
            x.exp(), x.tanh(), x.sigmoid(), x.relu(), x * 2, x.sign(), x.floor(), x.clamp(-1, 1),
            x.amax(), x.max(0), x.isnan(), x.isinf(), x == x, x.signbit(), torch.sort(x),
        ),
        x,
    )  # fmt: skip


TURNED = torch.randn(3, 5, 4).transpose(1, 2)
OPERANDS: dict[str, tuple[Tensor, Tensor]] = {
    "second turned": (torch.randn(3, 4, 5), TURNED),
    "first turned": (TURNED, torch.randn(3, 4, 5)),
    "with one number": (TURNED, torch.tensor(2.0)),
    "with a column": (torch.randn(5, 3).t()[..., None].expand(3, 5, 4), torch.rand(3, 5, 1)),
    "one of fewer dimensions": (torch.randn(3, 1, 4), torch.randn(4, 5).t()),
    "last dimension first": (torch.randn(4, 5, 3).permute(2, 0, 1), torch.randn(3, 4, 5)),
}


@pytest.mark.parametrize("operands", OPERANDS)
def test_which_operand_decides(operands: str) -> None:
    """Results have the strides of PyTorch's kernels, even if PyTorch's meta function differs."""

    def everything(x: Tensor, y: Tensor) -> list[Tensor]:
        return [
            torch.copysign(x, y), x // y, torch.div(x, y, rounding_mode="trunc"), x // 2,
            torch.heaviside(x, y), torch.logaddexp(x, y), torch.logaddexp2(x, y),
            x.logical_and(y), x.logical_or(y), x.logical_xor(y), torch.xlogy(x, y),
            torch.special.xlog1py(x, y), x + y, torch.where(x > 0, x, y),
        ]  # fmt: skip

    x, y = OPERANDS[operands]
    check(everything, x, y.abs())
    check(everything, x, y.abs(), dynamic=True)


IMAGE = torch.randn(2, 6, 4, 5).to(memory_format=torch.channels_last)
MODULES: dict[str, tuple[nn.Module, Tensor]] = {
    "batch norm": (nn.BatchNorm1d(4), TURNED),
    "batch norm of an image": (nn.BatchNorm2d(6), torch.randn(2, 5, 4, 6).permute(0, 3, 2, 1)),
    "batch norm, channels last": (nn.BatchNorm2d(6), IMAGE),
    "batch norm of every second row": (nn.BatchNorm2d(6), IMAGE[:, :, ::2]),
    "log sigmoid": (nn.LogSigmoid(), TURNED),
    "random slopes": (nn.RReLU(), TURNED),
    "shuffled channels": (nn.ChannelShuffle(2), IMAGE),
}


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("train", [True, False])
def test_how_results_of_modules_lie(name: str, train: bool) -> None:
    module, x = MODULES[name]
    check(module.train(train), x)
    check(module, x.detach().requires_grad_(), grad=True)
    check(lambda x: module(x).reshape(x.shape[0], -1) * 2, x)


def test_a_norm_of_turned_images_before_a_product() -> None:
    """Consumers are traced with the final strides of the norm's result."""
    torch.manual_seed(0)
    norm, linear = nn.BatchNorm1d(16).eval(), nn.Linear(16, 32)
    norm.running_mean, norm.running_var = torch.randn(16), torch.rand(16) + 0.5
    with torch.no_grad():
        for x in (torch.randn(6, 4, 16), torch.randn(6, 8, 16)[:, ::2], torch.randn(4, 16)):
            check(lambda x: linear(norm(x.mT).mT if x.dim() == 3 else norm(x)), x)
