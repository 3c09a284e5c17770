"""Architectures that ingot was not developed with: inference and one training step, against
eager."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from .hugging_face import tensors_of
from .judge import as_default, assert_near, compare, widened
from .test_hugging_face import without_dropout
from .zoo import ZOO

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.parametrize("name", ZOO)
def test_inference(name: str) -> None:
    model, arguments = ZOO[name].build()

    def call(model: nn.Module) -> list[Tensor]:
        with torch.no_grad():
            return tensors_of(model(**as_default(arguments)))

    compare(model.eval(), call)


UNFIT_FOR_TRAINING = {
    "bigbird": "draws from NumPy's generator, which Dynamo replaces: aot_eager differs as much",
    "efficientnet": "gradients this small are not normal numbers",
}


@pytest.mark.parametrize("name", [name for name in ZOO if name not in UNFIT_FOR_TRAINING])
def test_training_step(name: str) -> None:
    """Gradients whose true value is 0 are rounding residues of larger ones, so all errors are
    relative to the largest gradient of the network."""
    model, arguments = ZOO[name].build()
    without_dropout(model.train())
    truth = widened(lambda model: gradients(model, arguments), copy.deepcopy(model).double())
    eager = gradients(copy.deepcopy(model), arguments)
    got = gradients(model, arguments, backend="ingot", options={"strict": True})
    largest = max(gradient.abs().max().item() for gradient in truth)
    for parameter, *three in zip(dict(model.named_parameters()), got, eager, truth, strict=True):
        assert_near(*three, parameter, largest)


def gradients(model: nn.Module, arguments: dict[str, Tensor], **settings: Any) -> list[Tensor]:
    """Zeros for missing gradients: AOTAutograd returns zeros for unreachable parameters."""
    torch.manual_seed(0)
    call = torch.compile(model, **settings) if settings else model
    output = tensors_of(call(**as_default(arguments)))[0]
    (output * torch.linspace(-1, 1, output.shape[-1])).square().mean().backward()
    return [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]
