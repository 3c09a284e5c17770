"""Writes without a functional form: each is refused with the violated rule and the user's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import ingot
from ingot.errors import CaptureError


def overlapping(x: Tensor) -> Any:
    y = (x * 1)[:1].expand(3, 4)
    y.add_(1)  # here
    return y


def exchanged(x: Tensor) -> Any:
    y = x * 1
    y.set_(x)  # here
    return y


def resized_input(x: Tensor) -> Any:
    x.resize_(2, 2)  # here
    return x * 2


def resized_out(x: Tensor) -> Any:
    y = torch.empty(0)
    torch.add(x, 1, out=y)  # here
    return y


def transposed_input(x: Tensor) -> Any:
    x.t_()  # here
    return x * 2


def inference_tensor_written_outside(x: Tensor) -> Any:
    with torch.inference_mode():
        y = x * 2
    y.add_(1)  # here
    return y


def windows_that_overlap(x: Tensor) -> Any:
    y = x * 1
    y.unfold(0, 2, 1).add_(1)  # here
    return y


def strides_that_overlap(x: Tensor) -> Any:
    y = x * 1
    y.as_strided((2, 2), (1, 1)).add_(1)  # here
    return y


def copied_over_itself(x: Tensor) -> Any:
    y = x * 1
    y[1:].copy_(y[:-1])  # here
    return y


def added_to_its_transpose(x: Tensor) -> Any:
    y = (x * 1)[:3, :3]
    y += y.t()  # here
    return y


def lists_that_overlap(x: Tensor) -> Any:
    y, z = x * 1, x * 2
    torch._foreach_add_([y, z], [z, y])  # here
    return y, z


def exchanged_data(x: Tensor) -> Any:
    y = x * 1
    y.data = x * 3  # here
    return y


def hooked(x: Tensor) -> Any:
    y = x * 2
    y.register_hook(lambda grad: grad * 10)  # here
    return y * 1


def made_to_require_grad(x: Tensor) -> Any:
    y = x.detach().requires_grad_()  # here
    return y * 2


def flagged_to_require_grad(x: Tensor) -> Any:
    y = x.detach()
    y.requires_grad = True  # here
    return y * 2


def retains_grad(x: Tensor) -> Any:
    y = x * 2
    y.retain_grad()  # here
    return y * 2


def goes_backward(x: Tensor) -> Any:
    y = (x * x).sum()
    y.backward()  # here
    return y


RULES: dict[Callable[..., Any], str] = {
    overlapping: "more than one element|overlap",
    exchanged: "memory of a tensor is exchanged",
    resized_input: "another size",
    resized_out: "another size",
    transposed_input: "another shape in place",
    inference_tensor_written_outside: "inference_mode",
    windows_that_overlap: "more than one element",
    strides_that_overlap: "more than one element",
    copied_over_itself: "some elements of the input tensor and the written-to tensor",
    added_to_its_transpose: "some elements of the input tensor and the written-to tensor",
    lists_that_overlap: "some elements of the input tensor and the written-to tensor",
    exchanged_data: "memory of a tensor is exchanged",
    hooked: "a hook on a tensor",
    made_to_require_grad: "made to require grad",
    flagged_to_require_grad: "made to require grad",
    retains_grad: "retain_grad leaves a gradient",
    goes_backward: "backward leaves gradients",
}


WITH_GRAD = {hooked, retains_grad, goes_backward}


@pytest.mark.parametrize("function", RULES, ids=lambda f: f.__name__)
def test_refused_with_line_and_rule(function: Callable[..., Any]) -> None:
    with pytest.raises(CaptureError, match=RULES[function]) as caught:
        x = torch.ones(3, 4, requires_grad=function in WITH_GRAD)
        ingot.export(function, (x,), level="pre-dispatch")
    place = caught.value.place
    assert place is not None
    assert place.file == __file__
    assert "# here" in place.code


def test_parts_of_one_memory_may_be_written_from_each_other() -> None:
    def function(x: Tensor) -> Any:
        y = x * 1
        y[:, 0].copy_(y[:, 1])
        y[::2] += y[1:2]
        y.mul_(y)
        return y

    program = ingot.export(function, (torch.ones(3, 4),), level="pre-dispatch")
    x = torch.randn(3, 4)
    assert torch.equal(program(x), function(x))


def test_a_view_made_under_no_grad_is_not_written_with_grad() -> None:
    def function(x: Tensor) -> Any:
        y = x * 2
        with torch.no_grad():
            v = y[0]
        v.add_(1)
        return y

    x = torch.ones(3, 4, requires_grad=True)
    with pytest.raises(RuntimeError, match="no_grad"):
        function(x)
    with pytest.raises(CaptureError, match="no_grad"):
        ingot.export(function, (x,), level="pre-dispatch")


def test_the_same_without_grad_is_allowed() -> None:
    def function(x: Tensor) -> Any:
        with torch.no_grad():
            v = x[0]
        v.add_(1)
        return x * 2

    program = ingot.export(function, (torch.ones(3, 4),), level="pre-dispatch")
    x, same = torch.ones(3, 4), torch.ones(3, 4)
    assert torch.equal(program(x), function(same))
    assert torch.equal(x, same)


def test_an_output_with_two_owners_is_refused() -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        alias = x.detach()
        alias.mul_(y)
        return alias

    y = torch.ones(3, requires_grad=True)
    with pytest.raises(CaptureError, match="a history of its own"):
        ingot.export(function, (torch.ones(3), y), level="pre-dispatch")


def test_a_leaf_is_not_written_with_grad() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x: Tensor) -> Any:
            self.weight.mul_(2)
            return self.weight * x

    with pytest.raises(CaptureError, match="leaf"):
        ingot.export(Model(), (torch.ones(3),), level="pre-dispatch")
