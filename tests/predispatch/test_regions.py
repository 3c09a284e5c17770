"""The verifier's errors at pre-dispatch level, folding of regions, and kept custom ops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx import Graph, GraphModule

import ingot
from ingot.errors import CaptureError, VerifyError
from ingot.program.program import Level, program_from_fx
from ingot.program.verify import verify

from .check import check, targets

aten = torch.ops.aten


def program_of(*calls: tuple[Any, ...]) -> ingot.Program:
    """A chain of ops on one input, each with the given further arguments."""
    graph = Graph()
    x = graph.placeholder("x")
    x.meta["val"] = torch.ones(2, 3)
    node = x
    for op, *args in calls:
        node = graph.call_function(op, (x, *args))
        node.meta["val"] = op(x.meta["val"], *args)
    graph.output((node,))
    module = GraphModule(torch.nn.Module(), graph)
    return program_from_fx(module, level=Level.PRE_DISPATCH)


def test_an_op_that_writes_is_refused() -> None:
    with pytest.raises(VerifyError, match="it writes to its arguments"):
        verify(program_of((aten.add_.Tensor, 1)))


def test_an_op_that_copies_or_not_is_refused() -> None:
    with pytest.raises(VerifyError, match="a view or a copy"):
        verify(program_of((aten.reshape.default, [6])))


def test_an_op_that_returns_its_argument_is_refused() -> None:
    with pytest.raises(VerifyError, match="promises a fresh tensor"):
        verify(program_of((aten.dropout.default, 0.5, False)))


def test_a_silent_write_is_refused() -> None:
    graph = Graph()
    x, mean = graph.placeholder("x"), graph.placeholder("mean")
    x.meta["val"], mean.meta["val"] = torch.ones(2, 3), torch.ones(3)
    args = (x, None, None, mean, mean, True, 0.1, 1e-5, False)
    node = graph.call_function(aten.batch_norm.default, args)
    node.meta["val"] = torch.ones(2, 3)
    graph.output((node,))
    program = program_from_fx(GraphModule(torch.nn.Module(), graph), level=Level.PRE_DISPATCH)
    with pytest.raises(VerifyError, match="without saying so"):
        verify(program)


def test_the_body_of_a_region_is_verified() -> None:
    def function(x: Tensor) -> Tensor:
        with torch.no_grad():
            return x * 2

    program = ingot.export(function, (torch.ones(3),), level="pre-dispatch")
    (body,) = [m for m in program.graph_module.children() if isinstance(m, GraphModule)]
    (node,) = [n for n in body.graph.nodes if n.op == "call_function"]
    node.target = aten.mul_.Tensor
    with pytest.raises(VerifyError, match="it writes to its arguments"):
        verify(program)


def test_a_region_that_changes_nothing_is_folded() -> None:
    def function(x: Tensor) -> Tensor:
        with torch.enable_grad(), torch.autocast("cpu", enabled=False):
            return x * 2

    program = ingot.export(function, (torch.ones(3),), level="pre-dispatch")
    assert targets(program) == ["aten.mul.Tensor"]
    notes = program.journal.entries[0].notes
    assert any("enable_grad: folded away" in note for note in notes)
    assert any("autocast('cpu', enabled=False): folded away" in note for note in notes)


def test_composite_ops_stay_whole() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = torch.nn.Conv2d(2, 4, 3), torch.nn.LayerNorm(8)
            self.lstm, self.head = torch.nn.LSTM(4, 8), torch.nn.Linear(8, 5)
            self.drop = torch.nn.Dropout(0.5)

        def forward(self, x: Tensor, labels: Tensor) -> Tensor:
            y = self.drop(self.conv(x)).mean(-1)
            y, _ = self.lstm(torch.einsum("bcl,cd->lbd", y, torch.eye(4)))
            with torch.no_grad():
                scale = self.norm(y)
            y = F.scaled_dot_product_attention(y, scale, y)
            return F.cross_entropy(self.head(y[-1]), labels)

    program = check(Model(), torch.randn(3, 2, 6, 6), torch.tensor([0, 3, 1]))
    kept = set(targets(program))
    assert kept >= {
        "aten.conv2d.default", "aten.dropout.default", "aten.lstm.input", "aten.einsum.default",
        "aten.layer_norm.default", "aten.scaled_dot_product_attention.default",
        "aten.linear.default", "aten.cross_entropy_loss.default",
    }  # fmt: skip


def _bump(x: Tensor, y: Tensor) -> None:
    x.add_(y)


@pytest.fixture
def custom_ops() -> Iterator[Any]:
    library = torch.library.Library("ingot_tests", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: (x + x).clone(), "CompositeImplicitAutograd")
    library.define("bump(Tensor(a!) x, Tensor y) -> ()")
    library.impl("bump", _bump, "CPU")
    library.impl("bump", lambda x, y: None, "Meta")
    yield torch.ops.ingot_tests
    library._destroy()


def test_a_foreign_composite_op_is_taken_apart_unless_vouched_for(custom_ops: Any) -> None:
    def function(x: Tensor) -> Tensor:
        return custom_ops.twice(x)

    x = torch.ones(3)
    assert "ingot_tests.twice.default" not in targets(check(function, x, grad=False))
    program = check(function, x, grad=False, keep=[custom_ops.twice.default])
    assert "ingot_tests.twice.default" in targets(program)


def test_a_custom_op_that_writes(custom_ops: Any) -> None:
    def bump(x: Tensor, y: Tensor) -> Tensor:
        z = x * 2
        custom_ops.bump(z[1:], y)
        with torch.no_grad():
            custom_ops.bump(x, y[:1])
        return z

    check(bump, torch.ones(3), torch.ones(2), grad=False)


def test_autocast_gives_eagers_dtypes_for_every_policy() -> None:
    def function(x: Tensor, w: Tensor) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            low = x @ w
            wide = torch.nn.functional.mse_loss(low, w)
            mixed = torch.cat([low, w])
            kept = low + w
        return low, wide, mixed, kept

    check(function, torch.randn(4, 4, requires_grad=True), torch.randn(4, 4))


def test_gradients_taken_inside_are_recorded_where_eager_records_them() -> None:
    def function(x: Tensor) -> Any:
        y = (x * 1).sin()
        (plain,) = torch.autograd.grad((y * y).sum(), y)
        (kept,) = torch.autograd.grad((y**3).sum(), y, create_graph=True)
        return plain * x, kept * 2

    check(function, torch.randn(3, 4, requires_grad=True))


def test_an_autograd_function_is_differentiated_twice() -> None:
    class Cubed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grads[0] * 5 * x**2

    def function(x: Tensor) -> Tensor:
        return Cubed.apply(x).sum()

    program = ingot.export(function, (torch.ones(3),), level="pre-dispatch")
    second = []
    for call in (function, program):
        x = torch.arange(3.0, requires_grad=True)
        (first,) = torch.autograd.grad(call(x), x, create_graph=True)
        second.append(torch.autograd.grad(first.sum(), x)[0])
    assert torch.equal(*second)
    assert torch.equal(second[0], torch.tensor([0.0, 10.0, 20.0]))


def test_an_autograd_function_that_writes_to_its_input_is_refused() -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0] * 2

    with pytest.raises(CaptureError, match="writes to its input"):
        ingot.export(lambda x: Doubled.apply(x * 1), (torch.ones(3),), level="pre-dispatch")
