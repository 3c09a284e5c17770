"""User-defined ops: torch.library.custom_op, triton-free Python kernels, mutating ops, ops with
autograd, ops without a native lowering, ops with several results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from .check import check


@torch.library.custom_op("ingot_tests::numpy_sin", mutates_args=())
def numpy_sin(x: Tensor) -> Tensor:
    return torch.from_numpy(np.sin(x.numpy()))


@numpy_sin.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


def _sin_backward(ctx: object, grad: Tensor) -> Tensor:
    (x,) = ctx.saved_tensors  # type: ignore[attr-defined]
    return grad * x.cos()


def _save(ctx: object, inputs: tuple[Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)  # type: ignore[attr-defined]


numpy_sin.register_autograd(_sin_backward, setup_context=_save)


@torch.library.custom_op("ingot_tests::increment", mutates_args={"x"})
def increment(x: Tensor, by: float) -> None:
    x.add_(by)


@torch.library.custom_op("ingot_tests::halves", mutates_args=())
def halves(x: Tensor, weights: Sequence[float], name: str) -> tuple[Tensor, list[Tensor]]:
    return x * len(name), [x * weight for weight in weights]


@halves.register_fake
def _(x: Tensor, weights: Sequence[float], name: str) -> tuple[Tensor, list[Tensor]]:
    return torch.empty_like(x), [torch.empty_like(x) for _ in weights]


@torch.library.custom_op("ingot_tests::above", mutates_args=())
def above(x: Tensor, limit: float) -> Tensor:
    return x[x > limit].clone()


@above.register_fake
def _(x: Tensor, limit: float) -> Tensor:
    return x.new_empty(torch.library.get_ctx().new_dynamic_size())


calls: list[str] = []


@torch.library.custom_op("ingot_tests::log", mutates_args=())
def log(x: Tensor, text: str) -> Tensor:
    calls.append(text)
    return x.clone()


@log.register_fake
def _(x: Tensor, text: str) -> Tensor:
    return torch.empty_like(x)


def test_between_native_ops() -> None:
    (compiled,) = check(lambda x: numpy_sin(x + 1).exp() * 2, torch.randn(4, 3))
    assert len(compiled.fused.regions()) == 2


def test_strided_argument() -> None:
    check(lambda x: numpy_sin(x.t()) + 1, torch.randn(4, 3))


def test_autograd() -> None:
    check(lambda x: numpy_sin(x * 2).relu(), torch.randn(5, requires_grad=True), grad=True)


def test_mutating_an_input() -> None:
    def function(x: Tensor) -> Tensor:
        y = x * 2
        increment(x, 1.5)
        return x + y

    check(function, torch.randn(4))


def test_mutating_an_intermediate() -> None:
    def function(x: Tensor) -> Tensor:
        y = x * 2
        increment(y, 0.5)
        increment(y[1:], 0.25)
        return y.exp()

    check(function, torch.randn(4))


def test_lists_strings_and_several_results() -> None:
    check(lambda x: halves(x + 1, [0.5, 2.0], "abc"), torch.randn(4))

    def function(x: Tensor) -> Tensor:
        first, rest = halves(x, [0.5, 2.0, 3.0], "ab")
        return first + rest[1] * rest[2]

    check(function, torch.randn(4))


def test_data_dependent_result() -> None:
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        check(lambda x: above(x, 0.0) * 2, torch.randn(16))
        check(lambda x: above(x * 2, 0.5).sum(), torch.randn(16))


def test_side_effects_keep_their_order() -> None:
    def function(x: Tensor) -> Tensor:
        a = log(x, "first")
        b = log(x * 2, "second")
        return log(a + b, "third")

    calls.clear()
    check(function, torch.randn(3))
    assert calls == ["first", "second", "third"] * 2


def test_dynamic_shape() -> None:
    check(lambda x: numpy_sin(x[1:]).sum(0), torch.randn(5, 3), dynamic=True)


def test_old_style_library() -> None:
    with torch.library._scoped_library("ingot_old", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
        check(lambda x: torch.ops.ingot_old.twice(x).exp(), torch.randn(3))


def test_composite_implicit_op_is_traced_through() -> None:
    with torch.library._scoped_library("ingot_composite", "DEF") as library:
        library.define("norm2(Tensor x) -> Tensor")
        library.impl("norm2", lambda x: (x * x).sum(-1).sqrt(), "CompositeImplicitAutograd")
        x = torch.randn(4, 3, requires_grad=True)
        (forward, _) = check(lambda x: torch.ops.ingot_composite.norm2(x) + 1, x, grad=True)
        assert forward.fused.count("fallback") == 0
