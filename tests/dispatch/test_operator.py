"""A dispatched op outside ingot: eager, other backends, gradients, transforms, PyTorch's own
checks."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import ingot

from .activations import SIZES, activation, around, expected, rows, three_ways


def test_eager() -> None:
    for n in SIZES:
        x = rows(n)
        assert torch.equal(activation(x), three_ways(x))


def test_pins_serve_in_eager() -> None:
    @ingot.dispatch(on=("x", 0), ranges=[8], budget=0)
    def one(x: Tensor) -> Tensor:
        return x + 1

    @one.implementation()
    def other(x: Tensor) -> Tensor:
        return x + 2

    x = torch.zeros(4)
    assert one(x).eq(1).all()
    one.pin({(0, 8): "other"})
    assert one(x).eq(2).all()
    assert one(torch.zeros(9)).eq(1).all()
    one.unpin()
    assert one(x).eq(1).all()


@pytest.mark.parametrize(
    "backend", ["eager", "aot_eager", pytest.param("inductor", marks=pytest.mark.slow)]
)
def test_other_backends(backend: str) -> None:
    compiled = torch.compile(around, backend=backend, dynamic=True, fullgraph=True)
    for n in (256, 700, 4096):
        x = rows(n)
        torch.testing.assert_close(compiled(x), expected(x))


def gradient(function: object, x: Tensor) -> Tensor:
    leaf = x.clone().requires_grad_()
    function(leaf).pow(2).sum().backward()  # type: ignore[operator]
    assert leaf.grad is not None
    return leaf.grad


@pytest.mark.parametrize("n", [256, 700, 4096])
def test_gradients(n: int) -> None:
    x = rows(n)
    torch.testing.assert_close(gradient(around, x), gradient(expected, x))


def test_compiled_gradients() -> None:
    compiled = torch.compile(around, backend="ingot", dynamic=True, fullgraph=True)
    for n in (256, 700, 4096):
        x = rows(n)
        torch.testing.assert_close(gradient(compiled, x), gradient(expected, x))


def test_second_gradients() -> None:
    x = torch.randn(2, 9, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(activation, x)
    assert torch.autograd.gradgradcheck(activation, x)


def test_training_step() -> None:
    model = torch.nn.Linear(3, 600)

    class Loss(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: Tensor) -> Tensor:
            return activation(self.model(x)).square().mean()

    x = torch.randn(4, 3)
    program = ingot.export(Loss(), (x,), train=True)
    program(x)
    got = model.weight.grad
    model.weight.grad = None
    three_ways(model(x)).square().mean().backward()
    torch.testing.assert_close(got, model.weight.grad)


def test_transforms() -> None:
    x = torch.randn(4, 3, 600)
    torch.testing.assert_close(torch.vmap(activation)(x), x.tanh())
    torch.testing.assert_close(torch.vmap(activation, in_dims=1, out_dims=1)(x), x.tanh())
    found = torch.func.vmap(torch.func.grad(lambda x: activation(x).sum()))(x)
    torch.testing.assert_close(found, 1 - x.tanh().square())
    compiled = torch.compile(torch.vmap(activation), backend="ingot", fullgraph=True)
    torch.testing.assert_close(compiled(x), x.tanh())


def test_pytorch_checks_the_operator() -> None:
    for n in (8, 600):
        torch.library.opcheck(activation.target, (rows(n).requires_grad_(),))
        torch.library.opcheck(activation.target, (rows(n).t().contiguous().t(),))


def test_a_result_is_fresh() -> None:
    @ingot.dispatch(on=("x", 0), ranges=[8], budget=0)
    def same(x: Tensor) -> Tensor:
        return x.view(-1)

    x = torch.randn(4, 2)
    y = same(x)
    assert y.data_ptr() != x.data_ptr()
    torch.testing.assert_close(y, x.view(-1))
    compiled = torch.compile(same, backend="ingot", dynamic=True)
    assert compiled(x).data_ptr() != x.data_ptr()


def test_a_data_dependent_size_stays_whole() -> None:
    @ingot.dispatch(on=("x", 0), ranges=[8], budget=0)
    def summed(x: Tensor) -> Tensor:
        return x.sum()

    @summed.implementation()
    def other(x: Tensor) -> Tensor:
        return x.double().sum().float()

    summed.pin({(0, 8): "other", (9, None): "reference"})

    def picked(x: Tensor) -> Tensor:
        return summed(x[x > 0])

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(picked, backend="ingot", fullgraph=True)
        for n in (4, 40):
            x = torch.randn(n)
            torch.testing.assert_close(compiled(x), picked(x))
