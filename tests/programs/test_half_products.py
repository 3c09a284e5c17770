"""Half-precision matmuls and attention on a machine whose library has no code for them: native, as
close to the truth as eager, with weights kept in half precision."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ingot
from ingot.passes import widen
from ingot.plan.prepared import prepared_bytes
from ingot.runtime.executable import Executable

STRICT = {"strict": True}
HALVES = [torch.bfloat16, torch.float16]
halves = pytest.mark.parametrize("dtype", HALVES, ids=str)


@pytest.fixture(autouse=True)
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widen, "library_multiplies", lambda dtype: False)


def error(result: Tensor, truth: Tensor) -> float:
    return float((result.double() - truth).abs().max() / truth.abs().max())


def check(function: Callable[..., Tensor], *args: Tensor) -> Executable:
    """Errors at most eager's, or one rounding of the result."""
    with torch.no_grad():
        compiled = ingot.compile(function, args, options=STRICT)
        result, eager = compiled(*args), function(*args)
        wide = function.double() if isinstance(function, nn.Module) else function
        truth = wide(*(a.double() for a in args))
    assert result.dtype is eager.dtype and result.stride() == eager.stride()
    assert error(result, truth) <= max(error(eager, truth), torch.finfo(result.dtype).eps)
    return compiled


def is_native(compiled: Executable) -> bool:
    return "op" not in compiled.compiled.source.replace("prepared", "")


@halves
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("rows", "inner", "columns"), [(1, 40, 33), (7, 300, 64), (50, 64, 100)])
def test_linear(dtype: torch.dtype, bias: bool, rows: int, inner: int, columns: int) -> None:
    linear = nn.Linear(inner, columns, bias).to(dtype)
    assert is_native(check(linear, torch.randn(rows, inner).to(dtype)))


@halves
def test_what_follows(dtype: torch.dtype) -> None:
    module = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 32)).to(dtype)
    compiled = check(module, torch.randn(18, 64).to(dtype))
    assert is_native(compiled)
    native = compiled.compiled.native
    assert native is not None
    assert any(kernel.is_epilogue for kernel in native.by_region.values())


@halves
def test_weights_stay_halves(dtype: torch.dtype) -> None:
    held = prepared_bytes()
    linear, x = nn.Linear(256, 512, bias=False).to(dtype), torch.randn(3, 256).to(dtype)
    with torch.no_grad():
        compiled = ingot.compile(linear, (x,), options=STRICT)
        compiled(x)
        assert prepared_bytes() - held == 2 * 256 * 512
        for _ in range(2):
            linear.weight.mul_(-2)
            torch.testing.assert_close(compiled(x), linear(x), rtol=0.02, atol=0.02)


@halves
def test_two_new_values(dtype: torch.dtype) -> None:
    a, b, c = (torch.randn(s).to(dtype) for s in ((3, 7, 40), (3, 40, 20), (7, 20)))
    assert is_native(check(torch.bmm, a, b))
    assert is_native(check(torch.mm, a[0], b[0]))
    assert is_native(check(torch.baddbmm, c, a, b))


@halves
def test_attention(dtype: torch.dtype) -> None:
    q, k, v = (torch.randn(2, 4, n, 64).to(dtype) for n in (9, 30, 30))
    mask = torch.randn(9, 30).to(dtype)

    def masked(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, mask)

    assert is_native(check(F.scaled_dot_product_attention, q, k, v))
    assert is_native(check(masked, q, k, v, mask))


def test_autocast() -> None:
    """Weights are rounded once, not in every call."""
    linear, x = nn.Linear(64, 96), torch.randn(5, 64)

    def cast(x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return linear(x).relu()

    with torch.no_grad():
        fast = torch.compile(cast, backend="ingot", options=STRICT)
        for _ in range(2):
            torch.testing.assert_close(fast(x), cast(x), rtol=0.02, atol=0.02)
            linear.weight.mul_(2)


def test_gradients() -> None:
    module = nn.Sequential(nn.Linear(12, 40), nn.GELU(), nn.Linear(40, 7)).bfloat16()
    fast = torch.compile(module, backend="ingot", options=STRICT)
    x = torch.randn(30, 12).bfloat16().requires_grad_()
    wanted = torch.autograd.grad(module(x).sum(), [x, *module.parameters()])
    found = torch.autograd.grad(fast(x).sum(), [x, *module.parameters()])
    torch.testing.assert_close(found, wanted, rtol=0.05, atol=0.05)


def test_any_number_of_rows() -> None:
    linear = nn.Linear(40, 24).bfloat16()
    rows = torch.export.Dim("rows", min=1, max=500)
    with torch.no_grad():
        compiled = ingot.compile(
            linear, (torch.randn(5, 40).bfloat16(),), dynamic_shapes=({0: rows},), options=STRICT
        )
        for count in (1, 2, 64, 499):
            x = torch.randn(count, 40).bfloat16()
            torch.testing.assert_close(compiled(x), linear(x), rtol=0.02, atol=0.02)


class Three(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(24, 24) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (layer(x) for layer in self.layers)
        return q * k + v


def test_a_value_is_made_wide_once() -> None:
    x = torch.randn(5, 24).bfloat16()
    with torch.no_grad():
        compiled = ingot.compile(Three().bfloat16(), (x,), options=STRICT)
    nodes = compiled.compiled.fused.program.graph.nodes
    converted = [n.args[0] for n in nodes if n.target is widen.CONVERT and n.args[1] is widen.WIDE]
    assert len(converted) == len(set(converted)) == 7
