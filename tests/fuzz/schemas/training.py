"""Programs as training steps: the inputs that require gradients are parameters, a weighted sum of
the differentiable results is the loss, and the results are the loss and the parameters' gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

import ingot


def trainable(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def loss_of(results: Sequence[Any]) -> Tensor:
    ends = [each for each in results if trainable(each) and each.is_floating_point()]
    total = torch.zeros(())
    for end in ends:
        weights = torch.linspace(0.5, 1.5, end.numel()).reshape(end.shape)
        total = total + (end.double() * weights).sum().float()
    return total


def differentiated(function: Callable[..., Any]) -> Callable[..., list[Any]]:
    """The step in eager."""

    def step(*inputs: Any) -> list[Any]:
        loss = loss_of(function(*inputs))
        leaves = [each for each in inputs if trainable(each)]
        return [loss.detach(), *torch.autograd.grad(loss, leaves, allow_unused=True)]

    return step


class Step(nn.Module):
    def __init__(self, function: Callable[..., Any], inputs: Sequence[Any]) -> None:
        super().__init__()
        self.function = function
        self.trained = [trainable(each) for each in inputs]
        leaves = [each for each in inputs if trainable(each)]
        self.leaves = nn.ParameterList(nn.Parameter(leaf.detach()) for leaf in leaves)

    def forward(self, *others: Any) -> Tensor:
        leaves, rest = iter(self.leaves), iter(others)
        return loss_of(self.function(*(next(leaves if own else rest) for own in self.trained)))


def trained(
    function: Callable[..., Any], inputs: Sequence[Any], control: bool
) -> Callable[..., list[Any]]:
    """The step as an exported program; the control is torch.export's, differentiated by eager."""
    module = Step(function, inputs)
    others = tuple(each for each in inputs if not trainable(each))
    leaves: Sequence[nn.Parameter] = list(module.leaves)
    if control:
        exported = torch.export.export(module, others).module()
        leaves = [exported.get_parameter(f"leaves.{place}") for place in range(len(leaves))]
    program = None if control else ingot.export(module, others, train=True)

    def step(*inputs: Any) -> list[Any]:
        others = [each for each in inputs if not trainable(each)]
        with torch.no_grad():
            for leaf, value in zip(leaves, filter(trainable, inputs)):
                leaf.copy_(value)
                leaf.grad = None
        if program is None:
            loss = exported(*others)
            loss.backward()
        else:
            loss = program(*others)
        return [loss.detach(), *(leaf.grad for leaf in leaves)]

    return step
