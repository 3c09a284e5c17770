"""Backward ops called directly, with operands of mixed dtypes, 0-dim operands and no batch: shape,
dtype, strides and values equal eager's."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch._dynamo.exc import TorchRuntimeError

import ingot
from tests.ops.compare import assert_same_metadata, assert_same_values

aten = torch.ops.aten
Backward = Callable[[Tensor, Tensor], Any]
BACKWARDS: dict[str, Backward] = {
    "threshold": lambda g, x: aten.threshold_backward(g, x, 0.5),
    "sigmoid": aten.sigmoid_backward.default,
    "tanh": aten.tanh_backward.default,
    "gelu": aten.gelu_backward.default,
    "silu": aten.silu_backward.default,
    "softplus": lambda g, x: aten.softplus_backward(g, x, 1, 20),
    "leaky_relu": lambda g, x: aten.leaky_relu_backward(g, x, 0.1, False),
    "hardtanh": lambda g, x: aten.hardtanh_backward(g, x, -1, 1),
    "hardsigmoid": aten.hardsigmoid_backward.default,
    "hardswish": aten.hardswish_backward.default,
    "hardshrink": lambda g, x: aten.hardshrink_backward(g, x, 0.5),
    "softshrink": lambda g, x: aten.softshrink_backward(g, x, 0.5),
    "logit": lambda g, x: aten.logit_backward(g, x, 0.1),
    "elu": lambda g, x: aten.elu_backward(g, 1.0, 1.0, 1.0, False, x),
    "log_sigmoid": lambda g, x: aten.log_sigmoid_backward(g, x, x.abs().neg().exp()),
    "dropout": lambda g, x: aten.native_dropout_backward(g, x > 0, 2.0),
    "rrelu": lambda g, x: aten.rrelu_with_noise_backward(g, x, x, 0.1, 0.3, False, False),
    "prelu": lambda g, x: aten._prelu_kernel_backward(g, x, x.new_full((1,), 0.25)),
    "mse_loss": lambda g, x: aten.mse_loss_backward(g, x, x * 2, 0),
    "mean of mse_loss": lambda g, x: aten.mse_loss_backward(g.sum(dtype=g.dtype), x, x * 2, 1),
    "smooth_l1_loss": lambda g, x: aten.smooth_l1_loss_backward(g, x, x * 2, 0, 1.0),
    "huber_loss": lambda g, x: aten.huber_loss_backward(g, x, x * 2, 0, 1.0),
    "softmax": lambda g, x: aten._softmax_backward_data(g, x, -1, x.dtype),
    "log_softmax": lambda g, x: aten._log_softmax_backward_data(g, x, -1, x.dtype),
    "glu": lambda g, x: aten.glu_backward(g, torch.cat([x, x], -1), -1),
    "select": lambda g, x: aten.select_backward(g, [4, *g.shape], 0, -1),
}  # fmt: skip
DTYPES = (torch.float32, torch.bfloat16, torch.int64)


def leaves(results: Any) -> list[Tensor]:
    return [results] if isinstance(results, Tensor) else list(results)


OFTEN = [
    ((torch.float32, torch.bfloat16), ()),
    ((torch.bfloat16, torch.float32), (2, 3)),
    ((torch.int64, torch.float32), (2, 3)),
]
SELDOM = [
    case for case in product(product(DTYPES, DTYPES), [(2, 3), (3,), ()]) if case not in OFTEN
]


@pytest.mark.parametrize("dtypes, shape", OFTEN, ids=str)
def test_mixed_dtypes(dtypes: tuple[torch.dtype, ...], shape: tuple[int, ...]) -> None:
    _compared(*dtypes, shape)


@pytest.mark.slow
@pytest.mark.parametrize("dtypes, shape", SELDOM, ids=str)
def test_all_dtypes(dtypes: tuple[torch.dtype, ...], shape: tuple[int, ...]) -> None:
    _compared(*dtypes, shape)


def _compared(of_grad: torch.dtype, of_x: torch.dtype, shape: tuple[int, ...]) -> None:
    grad, x = (torch.randn(shape).mul(3).to(dtype) for dtype in (of_grad, of_x))
    wide = [t.double() if t.is_floating_point() else t for t in (grad, x)]
    known: dict[str, list[Tensor]] = {}
    for name, function in BACKWARDS.items():
        try:
            known[name] = leaves(function(grad, x))
        except (RuntimeError, IndexError):
            continue  # eager refuses
    program = ingot.compile(lambda g, x: [leaves(BACKWARDS[n](g, x)) for n in known], (grad, x))
    for (name, eager), actual in zip(known.items(), program(grad, x), strict=True):
        truth = leaves(BACKWARDS[name](*wide))
        for a, e, t in zip(actual, eager, truth, strict=True):
            assert_same_metadata(a, e, name)
            assert_same_values(a, e, t, name)


TARGETS = [torch.tensor(2), torch.tensor([2]), torch.tensor([3, 1, 0, 2, 4]), torch.tensor(-100)]
LOSSES: dict[str, Callable[..., Tensor]] = {
    "nll_loss": F.nll_loss,
    "cross_entropy": F.cross_entropy,
}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_one_sample(name: str, target: Tensor, reduction: str) -> None:
    """The target is 0-dim or has one element; others are refused. For these, Dynamo raises its own
    error during tracing, whatever the backend."""
    torch._dynamo.reset()
    x = torch.randn(5)

    def gradient(loss: Callable[..., Tensor]) -> Tensor:
        given = x.clone().requires_grad_()
        return torch.autograd.grad(loss(given, target).sum(), given)[0]

    def loss(x: Tensor, target: Tensor) -> Tensor:
        return LOSSES[name](x, target, reduction=reduction)

    compiled = torch.compile(loss, backend="ingot")
    try:
        expected = gradient(loss)
    except (RuntimeError, IndexError, ValueError) as refused:
        with pytest.raises((type(refused), TorchRuntimeError)):
            gradient(compiled)
        return
    actual = gradient(compiled)
    assert actual.shape == expected.shape and actual.stride() == expected.stride()
    torch.testing.assert_close(actual, expected, equal_nan=True)


def test_nll_loss_backward_of_one_sample() -> None:
    grad, x, weight = torch.tensor(1.5), torch.randn(5), torch.rand(5)
    total = torch.tensor(1.0)
    for target in TARGETS:
        for reduction, given in ((0, grad), (1, grad), (2, grad), (1, grad[None])):

            def backward(g: Tensor, x: Tensor, t: Tensor, mode: int = reduction) -> Tensor:
                return aten.nll_loss_backward(g, x, t, weight, mode, -100, total)

            try:
                expected = backward(given, x, target)
            except (RuntimeError, IndexError):
                continue
            actual = ingot.compile(backward, (given, x, target))(given, x, target)
            torch.testing.assert_close(actual, expected)
