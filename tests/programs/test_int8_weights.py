"""Linear weights stored as 8-bit integers: the result is the matmul with the rounded weights, and
the rounding error is within the bound in the option's documentation.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ingot
from ingot.errors import OptionError
from ingot.plan.prepared import prepared_bytes

INT8 = {"strict": True, "weights": "int8"}


def rounded(weight: Tensor) -> Tensor:
    """(out, in), each row rounded to multiples of 1/127 of its largest element."""
    scale = weight.abs().amax(1, keepdim=True) / 127
    return (weight / torch.where(scale > 0, scale, 1)).round() * scale


def check(rows: int, inner: int, columns: int, dtype: torch.dtype = torch.float32) -> None:
    linear, x = nn.Linear(inner, columns).to(dtype), torch.randn(rows, inner).to(dtype)
    with torch.no_grad():
        result = ingot.compile(linear, (x,), options=INT8)(x).double()
        near = rounded(linear.weight).double()
        truth = F.linear(x.double(), near, linear.bias.double())
        torch.testing.assert_close(result, truth, rtol=1e-5, atol=1e-5)
        most = linear.weight.double().abs().amax(1) / 254 * 1.001
        assert (near - linear.weight.double()).abs().amax(1).le(most).all()
        eager = linear.double()(x.double())
        assert (result - eager).abs().le(x.double().abs().sum(1, keepdim=True) * most + 1e-5).all()


@pytest.mark.parametrize("rows", [1, 2, 6, 7, 40])
@pytest.mark.parametrize(("inner", "columns"), [(1, 1), (3, 17), (256, 64), (300, 100), (513, 33)])
def test_it_is_the_rounded_weights_product(rows: int, inner: int, columns: int) -> None:
    torch.manual_seed(0)
    check(rows, inner, columns)


def test_double() -> None:
    check(5, 70, 40, torch.float64)


class Gated(nn.Module):
    """Linear layers with an epilogue, without a bias, and with a weight that is used transposed."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(64, 96), nn.Linear(64, 96, bias=False)
        self.down = nn.Parameter(torch.randn(96, 64))

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(self.gate(x)) * self.up(x) @ self.down


def test_what_follows_a_product() -> None:
    module, near, x = Gated(), Gated(), torch.randn(3, 64)
    with torch.no_grad():
        for name, value in module.state_dict().items():
            turned = name == "down"
            value = rounded(value.t()).t() if turned else value
            value = rounded(value) if value.dim() == 2 and not turned else value
            near.get_parameter(name).copy_(value)
        compiled = ingot.compile(module, (x,), options=INT8)
        torch.testing.assert_close(compiled(x), near(x), rtol=1e-4, atol=1e-4)


def change_in_place(linear: nn.Linear) -> None:
    linear.weight.mul_(-3)


def change_data(linear: nn.Linear) -> None:
    linear.weight.data = torch.randn_like(linear.weight)


@pytest.mark.parametrize("change", [change_in_place, change_data])
def test_a_changed_weight_is_noticed(change: Callable[[nn.Linear], None]) -> None:
    linear, x = nn.Linear(32, 48), torch.randn(4, 32)
    with torch.no_grad():
        compiled = ingot.compile(linear, (x,), options=INT8)
        for _ in range(3):
            change(linear)
            truth = F.linear(x, rounded(linear.weight), linear.bias)
            torch.testing.assert_close(compiled(x), truth, rtol=1e-5, atol=1e-5)


def test_what_is_not_finite_shows() -> None:
    linear, x = nn.Linear(40, 33), torch.randn(7, 40)
    with torch.no_grad():
        linear.weight[4, 7], linear.weight[5, 1] = float("inf"), float("nan")
        linear.weight[30] = 0.0
        result = ingot.compile(linear, (x,), options=INT8)(x)
    assert result[:, 4:6].isnan().all()
    assert result[:, 30].equal(linear.bias[30].expand(7))
    assert result.isfinite().sum() == 7 * 31


def test_memory_and_report() -> None:
    held = prepared_bytes()
    linear, x = nn.Linear(512, 512), torch.randn(1, 512)
    with torch.no_grad():
        report = ingot.explain(linear, (x,), options={"weights": "int8"})
        compiled = ingot.compile(linear, (x,), options={"weights": "int8"})
        compiled(x)
    assert prepared_bytes() - held == 512 * 512 + 4 * 512
    assert any("8-bit integers" in note and note.endswith(": 1.") for note in report.notes)


def test_convolutions_keep_theirs() -> None:
    module, x = nn.Conv2d(8, 16, 1).to(memory_format=torch.channels_last), torch.randn(2, 8, 6, 6)
    with torch.no_grad():
        compiled = ingot.compile(module, (x,), options=INT8)
        torch.testing.assert_close(compiled(x), module(x), rtol=1e-4, atol=1e-5)


def test_another_kind_is_refused() -> None:
    with pytest.raises(OptionError):
        ingot.compile(nn.Linear(3, 3), (torch.randn(1, 3),), options={"weights": "int4"})
