"""Regressions by class: programs that eager runs and a compiler stage refused. Python numbers in
place of tensors, sizes of parts, non-dense inputs under dynamic shapes, writes to tensors whose
size tracing fixed, an image decoder at several sizes."""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim

import ingot

NUMBERS: tuple[tuple[Any, ...], ...] = ((7, 2), (7.5, 2), (7,), (True, False))


def _number_calls(name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Calls with numbers only for which eager returns a tensor."""
    modes: list[dict[str, Any]] = [{}]
    if name in ("div", "divide"):
        modes += [{"rounding_mode": "trunc"}, {"rounding_mode": "floor"}]
    found = []
    for args, kwargs in itertools.product(NUMBERS, modes):
        with contextlib.suppress(Exception):
            result = getattr(torch, name)(*args, **kwargs)
            if isinstance(result, Tensor):
                found.append((args, kwargs))
    return found


def _takes_tensors(name: str) -> bool:
    """Whether it is a public, deterministic op on tensors."""
    random = ("rand", "normal", "bernoulli", "dropout")
    if name.startswith("_") or not hasattr(torch.ops.aten, name) or name.endswith(random):
        return False
    packet = getattr(torch.ops.aten, name)
    schemas = [getattr(packet, overload)._schema for overload in packet.overloads()]
    return any(s.arguments and str(s.arguments[0].type) == "Tensor" for s in schemas)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    NUMBER_CALLS = {
        name: calls
        for name in dir(torch)
        if _takes_tensors(name) and (calls := _number_calls(name))
    }


@pytest.mark.parametrize("name", NUMBER_CALLS)
def test_numbers_in_place_of_tensors(name: str) -> None:
    def program(x: Tensor) -> tuple[Any, ...]:
        made = [getattr(torch, name)(*args, **kwargs) for args, kwargs in NUMBER_CALLS[name]]
        return x + 1, *made

    x = torch.ones(3)
    for compiled in (torch.compile(program, backend="ingot"), ingot.compile(program, (x,))):
        torch.testing.assert_close(compiled(x), program(x), equal_nan=True)


def test_numbers_are_taken_by_the_arithmetic_operations() -> None:
    """The generated table contains the arithmetic ops."""
    assert {"add", "div", "floor_divide", "mul", "sub", "true_divide"} <= NUMBER_CALLS.keys()


def test_a_size_divided_by_a_number() -> None:
    def program(x: Tensor) -> Tensor:
        return x * torch.div(x.shape[1], 4, rounding_mode="trunc")

    compiled = torch.compile(program, backend="ingot")
    for size in (16, 20, 24):
        x = torch.randn(2, size)
        assert torch.equal(compiled(x), program(x))


PARTS: dict[str, Callable[[Tensor], Any]] = {
    "chunk": lambda x: [part + 1 for part in x.chunk(2)],
    "chunk inner": lambda x: [part + 1 for part in x.chunk(3, dim=1)],
    "tensor_split": lambda x: [part + 1 for part in torch.tensor_split(x, 2)],
    "unflatten": lambda x: x.unflatten(0, (2, -1)).sum(1),
    "split": lambda x: [part + 1 for part in x.split(2, dim=1)],
}


@pytest.mark.parametrize("program", PARTS.values(), ids=PARTS)
def test_parts_of_a_dynamic_size(program: Callable[[Tensor], Any]) -> None:
    x = torch.randn(8, 12)
    for dims in ({0: Dim.AUTO}, {1: Dim.AUTO}, {0: Dim.AUTO, 1: Dim.AUTO}):
        compiled = ingot.compile(program, (x,), dynamic_shapes=(dims,))
        torch.testing.assert_close(compiled(x), program(x))
        other = torch.randn(14 if 0 in dims else 8, 12)
        torch.testing.assert_close(compiled(other), program(other))


def _expanded(rows: int, columns: int) -> Tensor:
    return torch.randn(rows, 1).expand(rows, columns)


LAYOUTS: dict[str, Callable[[int, int], Tensor]] = {
    "dense": torch.randn,
    "transposed": lambda rows, columns: torch.randn(columns, rows).t(),
    "every second column": lambda rows, columns: torch.randn(rows, 2 * columns)[:, ::2],
    "every second row": lambda rows, columns: torch.randn(2 * rows, columns)[::2],
    "with an offset": lambda rows, columns: torch.randn(rows, columns + 1)[:, 1:],
    "a part": lambda rows, columns: torch.randn(3, rows, columns)[1],
    "both": lambda rows, columns: torch.randn(3 * rows, 5 * columns)[::3, ::5],
}


@pytest.mark.parametrize("made_with", LAYOUTS.values(), ids=LAYOUTS)
def test_layouts_under_dynamic_shapes(made_with: Callable[[int, int], Tensor]) -> None:
    def reading(x: Tensor) -> tuple[Tensor, ...]:
        return x * 2 + 1, x.sum(0), x.reshape(-1)

    def writing(x: Tensor) -> Tensor:
        x.mul_(2)
        return x.sum(-1)

    dims = ({0: Dim.AUTO, 1: Dim.AUTO},)
    reads = ingot.compile(reading, (made_with(4, 6),), dynamic_shapes=dims)
    writes = ingot.compile(writing, (made_with(4, 6),), dynamic_shapes=dims)
    for make in (*LAYOUTS.values(), _expanded):
        for sizes in ((4, 6), (5, 3), (7, 9)):
            x = make(*sizes)
            torch.testing.assert_close(reads(x), reading(x))
            if make is not _expanded:
                other = x.clone()
                torch.testing.assert_close(writes(x), writing(other))
                torch.testing.assert_close(x, other)


def test_no_tensor_fits_an_expanded_example() -> None:
    """The code reads one element per row, so a non-expanded tensor is refused instead of
    misread."""
    compiled = ingot.compile(lambda x: x + 1, (_expanded(4, 6),))
    x = _expanded(4, 6)
    assert torch.equal(compiled(x), x + 1)
    with pytest.raises(ingot.errors.InputError, match="share memory"):
        compiled(torch.randn(4, 6))


WRITES: dict[str, Callable[..., Any]] = {
    "unbind settles a size": lambda x, y: (y.fill_(2), x.copy_(torch.where(y > 0, y, y)),
                                           x.unbind()[0], x.masked_fill_(x > 0, 2.0))[1:],
    "a write through a row": lambda x, y: (x.clamp_(0), y.unbind()[0].exp_(), y.contiguous())[2],
    "a write to a diagonal": lambda x, y: (x.masked_fill_(x > 0, 2.0),
                                           torch.softmax(y, -1).add_(x.diagonal()))[1],
}  # fmt: skip


@pytest.mark.parametrize("program", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("how", ["static", "dynamic", "ahead", "ahead dynamic"])
def test_writes_where_a_size_is_settled(program: Callable[..., Any], how: str) -> None:
    def pair(size: int) -> tuple[Tensor, Tensor]:
        torch.manual_seed(size)
        return torch.randn(size, size), torch.randn(size, size)

    if how.startswith("ahead"):
        dims = {0: Dim.AUTO, 1: Dim.AUTO}
        shapes = (dims, dims) if how == "ahead dynamic" else None
        compiled: Any = ingot.compile(program, pair(4), dynamic_shapes=shapes)
    else:
        compiled = torch.compile(program, backend="ingot", dynamic=how == "dynamic" or None)
    for size in (4,) if how.startswith("ahead") else (4, 5, 6):
        given, expected = pair(size), pair(size)
        torch.testing.assert_close(compiled(*given), program(*expected))
        torch.testing.assert_close(given, expected)


class _Residual(nn.Module):
    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.GroupNorm(4, before), nn.GroupNorm(4, after)])
        self.first = nn.Conv2d(before, after, 3, padding=1)
        self.second = nn.Conv2d(after, after, 3, padding=1)
        self.short = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(F.silu(self.norms[0](x)))
        return self.short(x) + self.second(F.silu(self.norms[1](y)))


class _Attention(nn.Module):
    """Single-head attention over all pixels."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(4, channels)
        self.q, self.k, self.v, self.out = (nn.Linear(channels, channels) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        batch, channels, height, width = x.shape
        rows = self.norm(x.view(batch, channels, height * width)).transpose(1, 2)
        q, k, v = (
            part(rows).view(batch, -1, 1, channels).transpose(1, 2)
            for part in (self.q, self.k, self.v)
        )
        made = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, -1, channels)
        return self.out(made).transpose(-1, -2).reshape(batch, channels, height, width) + x


class _Larger(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(F.interpolate(x, scale_factor=2.0, mode="nearest"))


def _decoder() -> nn.Module:
    """Like the decoder of a variational autoencoder for images."""
    return nn.Sequential(
        nn.Conv2d(4, 16, 3, padding=1), _Residual(16, 16), _Attention(16), _Residual(16, 16),
        _Larger(16), _Residual(16, 8), _Larger(8), nn.GroupNorm(4, 8), nn.SiLU(),
        nn.Conv2d(8, 3, 3, padding=1),
    ).eval()  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("dynamic", [None, True])
def test_a_decoder_at_several_image_sizes(memory_format: Any, dynamic: bool | None) -> None:
    model = _decoder().to(memory_format=memory_format)
    compiled = torch.compile(model, backend="ingot", dynamic=dynamic)
    with torch.no_grad():
        for height, width in ((8, 8), (12, 15), (16, 16)):
            latent = torch.randn(1, 4, height, width)
            torch.testing.assert_close(compiled(latent), model(latent), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("height", [6, 9])
def test_channels_innermost_with_symbolic_sizes(height: int) -> None:
    """A residual in the layout of attention's result, with symbolic sizes: already channels-last
    before the layout pass."""
    model = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), _Attention(8), nn.GroupNorm(4, 8)).eval()
    compiled = torch.compile(model, backend="ingot", dynamic=True)
    with torch.no_grad():
        x = torch.randn(1, 4, height, 7)
        torch.testing.assert_close(compiled(x), model(x), atol=1e-5, rtol=1e-4)
