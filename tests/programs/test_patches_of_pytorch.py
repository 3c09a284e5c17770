"""What capture replaces in PyTorch: in the capturing thread only, until capture ends or fails, and
without an effect on programs for training."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch._decomp import decompositions
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import _side_effectful_functions

from ingot.passes.decompositions.dropout import inactive_dropout
from ingot.passes.decompositions.random_ops import keeping_control_flow
from ingot.passes.decompositions.recurrent import (
    dropout_between_layers,
    trained_layers,
    whole_layers,
)

PATCHES: dict[str, Callable[[], AbstractContextManager[None]]] = {
    patch.__name__: patch
    for patch in (
        inactive_dropout, keeping_control_flow, dropout_between_layers, trained_layers,
        whole_layers,
    )
}  # fmt: skip


def state() -> list[Any]:
    return [
        dict(torch.ops.aten.dropout.default.py_kernels),
        set(_side_effectful_functions),
        decompositions._rnn_helper,
        decompositions.select_one_layer_lstm_function,
    ]


@pytest.mark.parametrize("name", PATCHES)
def test_everything_is_restored(name: str) -> None:
    """After nesting, and after an error inside."""
    before = state()
    with PATCHES[name]():
        patched = state()
        assert patched != before
        with pytest.raises(KeyError), PATCHES[name]():
            raise KeyError
        assert state() == patched
    assert state() == before


def traced(function: Callable[[Tensor], Tensor]) -> list[Any]:
    graph = make_fx(function, tracing_mode="symbolic")(torch.randn(3)).graph
    return [node.target for node in graph.nodes if node.op == "call_function"]


def test_other_threads_trace_dropout_as_before() -> None:
    """Clones are PyTorch's own decomposition of inactive dropout."""

    def function(x: Tensor) -> Tensor:
        return F.dropout(x, 0.5, False) + 1

    usual = traced(function)
    found: list[Any] = []
    with inactive_dropout():
        thread = threading.Thread(target=lambda: found.extend(traced(function)))
        thread.start()
        thread.join()
        here = traced(function)
    assert found == usual
    assert here == [torch.ops.aten.add.Tensor]
    assert traced(function) == usual


def _written(p: float, train: bool) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor) -> Tensor:
        y = x * 2
        z = F.dropout(y, p, train)
        z.add_(1)  # a write to y, if the dropout is inactive
        return y.square() + z

    return function


@pytest.mark.parametrize(("p", "train"), [(0.0, True), (0.5, False), (0.0, False), (0.5, True)])
@pytest.mark.parametrize("grad", [False, True])
def test_inactive_dropout_in_joint_graphs(p: float, train: bool, grad: bool) -> None:
    compare(_written(p, train), [torch.randn(5, 7)], grad)


def _random_branch(x: Tensor) -> Tensor:
    def drawing(x: Tensor) -> Tensor:
        return x * torch.rand_like(x)

    def plain(x: Tensor) -> Tensor:
        return x * 2

    unused = torch.cond(x.sum() > 0, drawing, plain, (x,))
    del unused
    return x * torch.rand_like(x)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("sign", [1, -1])
def test_an_unused_branch_draws(sign: int, grad: bool) -> None:
    """The generator is where eager leaves it, whichever branch ran."""
    compare(_random_branch, [torch.rand(4, 6) * sign], grad)


def compare(function: Callable[..., Tensor], args: Sequence[Tensor], grad: bool) -> None:
    """Values, gradients and the state of the generator, against eager; twice."""
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="ingot", options={"strict": True})
    for _ in range(2):
        rows = []
        for call in (function, compiled):
            torch.manual_seed(3)
            given = [x.clone().requires_grad_(grad) for x in args]
            with torch.set_grad_enabled(grad):
                result = call(*given)
            if grad:
                result.sum().backward()
            rows.append([result.detach(), *(x.grad for x in given if grad), torch.rand(3)])
        for got, wanted in zip(rows[1], rows[0], strict=True):
            torch.testing.assert_close(got, wanted)
