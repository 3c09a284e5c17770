"""Dynamic sizes: one program for all of them, through torch.compile and ahead of time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim

import ingot

A = Dim.AUTO


def agrees(function: Callable[..., Any], shapes: Any, calls: Sequence[tuple[Any, ...]]) -> Any:
    """Compile with the first arguments and compare with eager for all."""
    with torch.no_grad():
        compiled = ingot.compile(
            function, calls[0], dynamic_shapes=shapes, options={"strict": True}
        )
        for args in calls:
            torch.testing.assert_close(compiled(*args), function(*args), rtol=1e-4, atol=1e-5)
    return compiled


def rows(*sizes: int) -> list[tuple[Tensor]]:
    return [(torch.randn(n, 8),) for n in sizes]


def test_one_and_zero_are_ordinary_sizes() -> None:
    linear = nn.Linear(8, 8)
    agrees(lambda x: linear(x).softmax(-1), ({0: A},), rows(4, 1, 0, 9))
    agrees(lambda x: (x * 2).sum(0) / max(x.size(0), 1), ({0: A},), rows(4, 1, 0, 9))


def test_sizes_as_values() -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        n = x.size(0)
        return torch.full((n,), n / 2), x.clone()[: n // 2] * n

    agrees(function, ({0: A},), rows(6, 1, 9, 0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8, torch.bool, torch.complex64])
def test_sizes_copied_into_tensors(dtype: torch.dtype) -> None:
    """`copy_` accepts a number, which it wraps like any other."""

    def function(x: Tensor) -> tuple[Tensor, ...]:
        n, m = x.shape
        made, strided = torch.zeros(n, m, dtype=dtype), torch.zeros(m, n, dtype=dtype)
        strided.t()[:, 1:].copy_(300 * n)
        return made.copy_(m), strided, torch.zeros(n, dtype=dtype).copy_(n / 2), x.copy_(n > m)

    agrees(function, ({0: A, 1: A},), [(torch.randn(n, m),) for n, m in ((3, 4), (7, 3), (9, 40))])


@pytest.mark.parametrize("name", ["floor_divide", "copysign", "logical_xor"])
def test_layouts_of_many_symbols(name: str) -> None:
    """That such a copy is contiguous follows from its strides alone."""

    def function(x: Tensor) -> Tensor:
        return getattr(torch, name)(x, x + 1)

    calls = [(torch.ones(n, 3, 2, m, 4).permute(4, 3, 2, 1, 0),) for n, m in ((2, 5), (3, 3))]
    compiled = agrees(function, (dict.fromkeys(range(5), A),), calls)
    for args in calls:
        assert compiled(*args).stride() == function(*args).stride()


def test_fractions_of_sizes() -> None:
    def function(x: Tensor) -> Tensor:
        n, m = x.shape
        return (x * (n / m) + n / 2).round() + torch.arange(m, dtype=torch.float32) * (m / 3)

    calls = [(torch.randn(n, m),) for n, m in ((6, 4), (1, 9), (33, 17))]
    compiled = agrees(function, ({0: A, 1: A},), calls)
    assert compiled.compiled.fused.count("fallback") == 0


def test_int_arguments() -> None:
    def function(x: Tensor, n: int) -> tuple[Tensor, int]:
        return x.clone()[:, : n // 2] * n, n + 1

    compiled = ingot.compile(function, (torch.randn(3, 16), 4), dynamic_shapes=(None, Dim.DYNAMIC))
    for n in (4, 7, 12, 2):
        x = torch.randn(3, 16)
        torch.testing.assert_close(compiled(x, n), function(x, n))


def test_two_sizes_that_belong_together() -> None:
    agrees(
        lambda x, y: x + y,
        ({0: A}, {0: A}),
        [(torch.randn(n, 8), torch.randn(n, 8)) for n in (6, 1, 9)],
    )


def test_dynamic_transformer_layer() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    calls = [(torch.randn(b, n, 8),) for b, n in ((2, 5), (1, 7), (4, 1), (3, 33))]
    agrees(layer, ({0: A, 1: A},), calls)


def test_dynamic_images() -> None:
    conv = nn.Conv2d(3, 4, 3, padding=1)
    calls = [(torch.randn(b, 3, h, w),) for b, h, w in ((2, 8, 8), (1, 5, 7), (3, 16, 9))]
    agrees(lambda x: conv(x).relu().mean((2, 3)), ({0: A, 2: A, 3: A},), calls)


def test_ranges_are_kept() -> None:
    function = lambda x: x.softmax(0)  # noqa: E731
    compiled = agrees(function, ({0: Dim("n", min=1, max=16)},), rows(4, 1, 16))
    for n in (0, 17):
        with pytest.raises(ingot.InputError, match=r"dim 0 of x is \d+; the program takes 1..16"):
            compiled(torch.randn(n, 8))


def test_a_branch_on_a_size_becomes_a_guard() -> None:
    def function(x: Tensor) -> Tensor:
        return x * 2 if x.size(0) > 5 else x * 3

    compiled = agrees(function, ({0: A},), rows(8, 6, 30))
    with pytest.raises(ingot.InputError, match="dim 0 of x is 5"):
        compiled(torch.randn(5, 8))


def test_a_size_that_has_to_divide() -> None:
    compiled = agrees(lambda x: x.view(-1, 4).sum(0), ({0: A},), rows(4, 8))
    assert compiled(torch.randn(3, 8)).shape == (4,)


def test_layouts_of_dynamic_inputs() -> None:
    compiled = agrees(lambda x: x.exp() + 1, ({0: A, 1: A},), [(torch.randn(3, 5),)])
    turned = torch.randn(7, 4).t()
    torch.testing.assert_close(compiled(turned), turned.exp() + 1)


def test_mark_dynamic() -> None:
    from torch._dynamo.utils import counters

    compiled = torch.compile(F.gelu, backend="ingot", fullgraph=True, options={"strict": True})
    counters.clear()
    calls = rows(4, 5, 17, 33)
    torch._dynamo.mark_dynamic(calls[0][0], 0)
    for (x,) in calls:
        torch.testing.assert_close(compiled(x), F.gelu(x))
    assert counters["stats"]["unique_graphs"] == 1


@pytest.mark.parametrize(("dynamic", "graphs"), [(True, 1), (None, 2), (False, 4)])
def test_dynamic_means_what_it_means(dynamic: bool | None, graphs: int) -> None:
    from torch._dynamo.utils import counters

    compiled = torch.compile(
        lambda x: F.gelu(x).sum(0), backend="ingot", dynamic=dynamic, options={"strict": True}
    )
    counters.clear()
    for (x,) in rows(4, 5, 17, 33):
        torch.testing.assert_close(compiled(x), F.gelu(x).sum(0), rtol=1e-4, atol=1e-5)
    assert counters["stats"]["unique_graphs"] == graphs


def test_a_float_that_dynamo_reads_from_a_tensor_and_settles() -> None:
    compiled = torch.compile(
        lambda x, q: torch.quantile(x, q), backend="ingot", dynamic=True, options={"strict": True}
    )
    with torch.no_grad(), torch._dynamo.config.patch(capture_scalar_outputs=True):
        for x, q in ((torch.tensor(3.0), 0.5), (torch.randn(9), 0.25), (torch.randn(7), 0.75)):
            torch.testing.assert_close(compiled(x, q), torch.quantile(x, q))


def test_a_float_of_a_size_that_the_export_settles() -> None:
    """torch.export fixes `int(...)`: sizes with the same value are accepted, others refused."""
    halves = agrees(lambda x: x[: int(x.shape[0] * 0.5)] * 2, ({0: A},), rows(6, 7))
    with pytest.raises(ingot.InputError, match=r"TruncToInt.*, 3\)"):
        halves(torch.randn(13, 8))


@pytest.mark.parametrize("rounding", [math.ceil, math.floor, math.trunc], ids=lambda f: f.__name__)
def test_rounded_quotients_as_sizes(rounding: Callable[[float], int]) -> None:
    """MobileViT pads its images to whole patches so."""

    def function(x: Tensor) -> Tensor:
        return torch.ones(rounding(x.shape[0] / 3) * 2) * x.sum(0)[0]

    agrees(function, ({0: A},), rows(7, 6, 8, 31))


@pytest.mark.parametrize("images", [False, True], ids=["batch", "batch and image"])
@pytest.mark.parametrize(
    "op", [
        lambda x: F.pad(x, (0, 1, 0, 1)), lambda x: F.max_pool2d(x, 2),
        lambda x: F.interpolate(x, scale_factor=2.0), lambda x: torch.cat([x[:, :3], x], 1),
    ], ids=["pad", "max_pool2d", "interpolate", "cat"],
)  # fmt: skip
def test_between_convolutions(op: Callable[[Tensor], Tensor], images: bool) -> None:
    """Channels-last propagation adds no guards: padding fixed the batch size to the example's."""
    torch.manual_seed(0)
    first, second = nn.Conv2d(3, 16, 3), nn.LazyConv2d(8, 3)
    second(op(first(torch.randn(1, 3, 16, 16))))  # now it knows its channels
    dims = {0: A, 2: A, 3: A} if images else {0: A}
    calls = [(torch.randn(2, 3, 16, 16),), (torch.randn(5, 3, 16, 16),)]
    if images:
        calls.append((torch.randn(3, 3, 24, 20),))
    with torch.no_grad():
        agrees(nn.Sequential(first, _Op(op), second).eval(), (dims,), calls)


class _Op(nn.Module):
    def __init__(self, op: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.op = op

    def forward(self, x: Tensor) -> Tensor:
        return self.op(x)
