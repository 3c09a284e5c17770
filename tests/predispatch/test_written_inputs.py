"""Regressions found by random programs: written inputs while others require grad, and views in
corner cases of autograd and inference_mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import ingot
from ingot.errors import CaptureError

from .check import check


def plain_and_grad() -> tuple[Tensor, Tensor]:
    return torch.randn(3, 4), torch.randn(3, 4, requires_grad=True)


def test_a_copy_keeps_the_history_of_what_it_covers() -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        z = y * 2
        z.copy_(x)
        return z

    check(function, *plain_and_grad())


def test_a_detached_alias_of_what_has_no_history_gets_one() -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        plain = x * 1
        alias = plain.view_as(plain)
        plain.detach().add_(y)
        return plain, alias, y * 2

    check(function, *plain_and_grad())


def test_gradients_enabled_under_inference_mode_record_nothing() -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        with torch.inference_mode():
            with torch.enable_grad():
                copy = y.clone()
            alias = copy.view_as(copy)
            with torch.enable_grad():
                alias.add_(1)
        return copy + x, y * 2

    check(function, *plain_and_grad())


def test_a_history_is_written_into_a_plain_input() -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        x.add_(y)
        x[1:].mul_(y[1:])
        return x * 2

    check(function, *plain_and_grad())


def test_a_part_of_several_is_a_view_of_a_written_input() -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        x.add_(y)
        return x.unbind(-1)[0], x.split([1, 2])[1], x.chunk(2, dim=1)[1]

    check(function, *plain_and_grad())


def test_a_program_that_only_plain_inputs_allow() -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        z = x * 1
        part = z.chunk(2)[1]
        part.add_(1)  # with grad, eager forbids writes to one of several views
        x.add_(y)
        return z, x * 2

    check(function, *plain_and_grad())


def test_one_row_of_an_expanded_tensor_is_written() -> None:
    def function(x: Tensor) -> Any:
        y = x * 1
        twice = y.expand(2, 3, 4)
        twice[1:].mul_(3)
        twice.detach()[0].add_(1)
        return y, twice * 2

    check(function, torch.randn(3, 4, requires_grad=True))


def test_a_view_made_under_inference_mode_is_used_outside() -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        z = x * 1
        with torch.inference_mode():
            z.add_(1)
            first = z[0]
        return first.unsqueeze(-1) @ y[:1, :1], z * 2

    check(function, *plain_and_grad())


def test_data_does_not_tell_autograd_of_writes() -> None:
    def function(x: Tensor) -> Any:
        y = x * 1
        first = y.unbind(-1)[0]
        y.data.zero_()
        return first.clone(), y * 2

    check(function, torch.randn(3, 4, requires_grad=True))


@pytest.mark.parametrize("alias", [Tensor.detach, lambda y: y], ids=["detach", "itself"])
def test_others_do(alias: Callable[[Tensor], Tensor]) -> None:
    def function(x: Tensor) -> Any:
        y = x * 1
        first = y.unbind(-1)[0]
        alias(y).zero_()
        return first.clone()

    x = torch.randn(3, 4, requires_grad=True)
    with pytest.raises(RuntimeError, match="multiple views"):
        function(x)
    with pytest.raises(CaptureError, match="multiple views"):
        ingot.export(function, (x,), level="pre-dispatch")


def test_a_view_made_under_inference_mode_is_not_written_with_grad() -> None:
    def function(x: Tensor) -> Any:
        y = x * 1
        with torch.inference_mode(), torch.enable_grad():
            part = y[1:]
        part.fill_(3)
        return y

    x = torch.randn(3, 4, requires_grad=True)
    with pytest.raises(RuntimeError, match="inference mode"):
        function(x)
    with pytest.raises(CaptureError, match="mode"):
        ingot.export(function, (x,), level="pre-dispatch")


def test_an_inference_tensor_is_not_kept_for_a_backward() -> None:
    def function(x: Tensor) -> Any:
        with torch.inference_mode():
            y = x.clone()
        return y @ x.t()

    program = ingot.export(function, (torch.randn(3, 4),), level="pre-dispatch")
    x = torch.randn(3, 4)
    assert torch.equal(program(x), function(x))
    x.requires_grad_()
    for call in (function, program):
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            call(x)
