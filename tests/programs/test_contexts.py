"""Modes that change ops: autocast, no_grad, inference mode, default dtypes, threads."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .check import check


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_autocast_region_inside(dtype: torch.dtype) -> None:
    def function(x: Tensor, w: Tensor) -> tuple[Tensor, ...]:
        with torch.autocast("cpu", dtype=dtype):
            y = x @ w
            z = F.layer_norm(y.float(), (4,))
            s = y.softmax(-1)
        return y, z, s, x @ w

    check(function, torch.randn(3, 4), torch.randn(4, 4), loosen=2)


def test_autocast_outside() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))
    compiled = torch.compile(model, backend="ingot", options={"strict": True})
    x = torch.randn(5, 8)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        got, want = compiled(x), model(x)
    assert got.dtype is want.dtype is torch.bfloat16
    torch.testing.assert_close(got, want)


def test_autocast_disabled_inside() -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            a = x @ x
            with torch.autocast("cpu", enabled=False):
                b = x @ x
        return a, b

    check(function, torch.randn(4, 4))


def test_autocast_training() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up = nn.Linear(6, 12)
            self.down = nn.Linear(12, 3)

        def forward(self, x: Tensor) -> Tensor:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = self.down(F.gelu(self.up(x)))
            return F.cross_entropy(y.float(), torch.tensor([0, 1, 2, 0]))

    check(Net(), torch.randn(4, 6), grad=True, loosen=4000)


def test_caller_under_no_grad_and_with_grad() -> None:
    """Called in both modes, one compiled function has a graph for each."""
    model = nn.Linear(3, 3)
    compiled = torch.compile(model, backend="ingot", options={"strict": True})
    x = torch.randn(2, 3)
    with torch.no_grad():
        assert not compiled(x).requires_grad
    assert compiled(x).requires_grad
    with torch.inference_mode():
        assert compiled(x).is_inference()


def test_grad_mode_is_left_as_it_was() -> None:
    def function(x: Tensor) -> Tensor:
        torch.set_grad_enabled(False)
        y = x * 2
        torch.set_grad_enabled(True)
        return y + x

    check(function, torch.randn(3, requires_grad=True), grad=True)
    assert torch.is_grad_enabled()


def test_inference_mode_inside() -> None:
    def function(x: Tensor) -> Tensor:
        with torch.inference_mode():
            y = x.exp()
        return y * 1

    check(function, torch.randn(3), fullgraph=False)


def test_default_dtype() -> None:
    def function(x: Tensor) -> Tensor:
        return torch.arange(3) / 2 + torch.ones(3) * x

    try:
        torch.set_default_dtype(torch.float64)
        check(function, torch.randn(3))
    finally:
        torch.set_default_dtype(torch.float32)
    check(function, torch.randn(3))


def test_train_and_eval() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    compiled = torch.compile(model, backend="ingot", options={"strict": True})
    x = torch.randn(6, 4)
    for mode in (True, False, True):
        model.train(mode)
        state = {k: v.clone() for k, v in model.state_dict().items()}
        torch.manual_seed(0)
        got = compiled(x)
        after = {k: v.clone() for k, v in model.state_dict().items()}
        model.load_state_dict(state)
        torch.manual_seed(0)
        torch.testing.assert_close(got, model(x))
        torch.testing.assert_close(after, model.state_dict())


def test_vmap_and_grad_transforms() -> None:
    def loss(w: Tensor, x: Tensor) -> Tensor:
        return torch.tanh(x @ w).square().sum()

    w, x = torch.randn(3), torch.randn(5, 3)
    check(lambda w, x: torch.vmap(torch.func.grad(loss), (None, 0))(w, x), w, x)
    check(lambda w, x: torch.func.jacrev(lambda w: torch.tanh(x @ w))(w), w, x)
    check(lambda w, x: torch.func.jvp(lambda w: torch.sin(x @ w), (w,), (w,)), w, x)


def test_deterministic_algorithms_are_obeyed() -> None:
    torch.use_deterministic_algorithms(True)
    try:
        check(
            lambda x, i: torch.zeros(5).index_add(0, i, x).exp(),
            torch.randn(8),
            torch.randint(0, 5, (8,)),
        )
    finally:
        torch.use_deterministic_algorithms(False)


def test_sparse_and_quantized_inputs() -> None:
    check(
        lambda s, x: s.to_dense() @ x, torch.eye(3).to_sparse(), torch.randn(3, 2), fullgraph=False
    )
    check(
        lambda s, x: torch.sparse.mm(s, x) + 1,
        torch.eye(3).to_sparse(),
        torch.randn(3, 2),
        fullgraph=False,
    )
    q = torch.quantize_per_tensor(torch.randn(4), 0.1, 0, torch.qint8)
    check(lambda q: q.dequantize() * 2, q, fullgraph=False)
