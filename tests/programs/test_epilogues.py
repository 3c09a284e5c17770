"""Matmul epilogues: elementwise consumers run on each tile of the result. Compared with eager in
f64, with the fused pairs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ingot
from ingot.runtime.executable import Executable

Follow = Callable[[Tensor, Tensor], Tensor]


class Followed(nn.Module):
    """A matmul followed by a function of its result and another tensor of the same shape."""

    def __init__(self, inner: int, columns: int, follow: Follow, bias: bool = True):
        super().__init__()
        self.linear = nn.Linear(inner, columns, bias)
        self.follow = follow

    def forward(self, x: Tensor, other: Tensor) -> Tensor:
        return self.follow(self.linear(x), other)


def check(module: nn.Module, *args: Tensor, tolerance: float = 1e-5) -> Executable:
    with torch.no_grad():
        compiled = ingot.compile(module, args, options={"strict": True})
        for _ in range(2):
            result, eager = compiled(*args), module(*args)
            assert result.stride() == eager.stride() and result.dtype == eager.dtype
            wide = module.double()(*(a.double() if a.is_floating_point() else a for a in args))
            module.float()
            torch.testing.assert_close(
                result.double(), wide.double(), rtol=tolerance, atol=tolerance, equal_nan=True
            )
    return compiled


def epilogues(compiled: Executable) -> int:
    native = compiled.compiled.native
    assert native is not None
    return sum(kernel.is_epilogue for kernel in native.by_region.values())


FOLLOWS: dict[str, Follow] = {
    "activation": lambda y, _: F.gelu(y),
    "residual": lambda y, other: y.relu() + other,
    "scaled": lambda y, other: other * torch.sigmoid(y * 2) - y,
    "column": lambda y, other: y * other[..., :1] + other[..., :1, :],
    "another type": lambda y, other: (y > other).to(torch.float64),
    "counted": lambda y, _: y + torch.arange(y.shape[-1]),
}


@pytest.mark.parametrize("name", FOLLOWS)
@pytest.mark.parametrize(
    ("shape", "columns"),
    [((1, 5), 33), ((7, 40), 16), ((3, 5, 300), 48), ((33, 257), 100), ((2, 3, 2, 9), 17)],
)
def test_it_is_eagers(name: str, shape: tuple[int, ...], columns: int) -> None:
    torch.manual_seed(0)
    module = Followed(shape[-1], columns, FOLLOWS[name])
    compiled = check(module, torch.randn(shape), torch.randn(*shape[:-1], columns))
    assert epilogues(compiled) == 1


def test_not_a_number_and_infinity() -> None:
    x, other = torch.randn(7, 40), torch.randn(7, 33)
    x[2, 3], x[4, 5], other[5, 6] = float("nan"), float("inf"), -float("inf")
    assert epilogues(check(Followed(40, 33, FOLLOWS["residual"]), x, other)) == 1


def test_a_strided_operand() -> None:
    other = torch.randn(40, 70)[:, 1:65:2].t()
    assert other.shape == (32, 40)
    check(Followed(20, 40, FOLLOWS["residual"]), torch.randn(32, 20), other)


def test_a_row_is_needed_whole() -> None:
    """A norm needs whole rows, so it is a separate kernel."""
    module = Followed(20, 40, lambda y, other: F.layer_norm(y + other, (40,)))
    assert epilogues(check(module, torch.randn(6, 20), torch.randn(6, 40))) == 0


class Twice(nn.Module):
    """The matmul's result is also returned and used by another matmul."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(20, 24), nn.Linear(24, 24)

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(x)
        return torch.cat([y, F.silu(y), self.second(y) * F.silu(y)], -1)


def test_a_product_that_others_read_keeps_its_memory() -> None:
    check(Twice(), torch.randn(50, 20))


class Several(nn.Module):
    """Matmuls of one input whose results are combined: the last one's epilogue reads the others."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(48, 96), nn.Linear(48, 96), nn.Linear(96, 48)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(F.silu(self.gate(x)) * self.up(x))


def test_a_gated_network() -> None:
    assert epilogues(check(Several(), torch.randn(2, 9, 48))) == 2


def test_buffers_that_are_written() -> None:
    class Running(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 8)
            self.register_buffer("mean", torch.ones(8, 8))

        def forward(self, x: Tensor) -> Tensor:
            self.mean.copy_(self.linear(self.mean) * 0.5 + x)
            return self.mean * 2

    module, plain = Running(), Running()
    plain.load_state_dict(module.state_dict())
    x = torch.randn(8, 8)
    with torch.no_grad():
        compiled = ingot.compile(module, (x,), options={"strict": True})
        for _ in range(3):
            torch.testing.assert_close(compiled(x), plain(x))


def test_any_number_of_rows() -> None:
    module = Followed(40, 24, FOLLOWS["residual"])
    rows = torch.export.Dim("rows", min=1, max=500)
    args = (torch.randn(5, 40), torch.randn(5, 24))
    with torch.no_grad():
        compiled = ingot.compile(
            module, args, dynamic_shapes={"x": {0: rows}, "other": {0: rows}},
            options={"strict": True},
        )  # fmt: skip
        assert epilogues(compiled) == 1
        for count in (1, 2, 7, 64, 499):
            x, other = torch.randn(count, 40), torch.randn(count, 24)
            torch.testing.assert_close(compiled(x, other), module(x, other))


def test_gradients() -> None:
    module = nn.Sequential(nn.Linear(12, 40), nn.GELU(), nn.Linear(40, 7), nn.Tanh())
    fast = torch.compile(module, backend="ingot", options={"strict": True})
    x = torch.randn(30, 12, requires_grad=True)
    wanted = torch.autograd.grad(module(x).sum(), [x, *module.parameters()])
    found = torch.autograd.grad(fast(x).sum(), [x, *module.parameters()])
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
