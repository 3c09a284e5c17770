"""Architectures that nothing here was made for: inference and one training step, against eager."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from .hugging_face import tensors_of
from .judge import as_default, compare, training_step
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


@pytest.mark.parametrize("name", ZOO)
def test_training_step(name: str) -> None:
    model, arguments = ZOO[name].build()
    without_dropout(model.train())

    def loss_of(model: nn.Module) -> Tensor:
        output = tensors_of(model(**as_default(arguments)))[0]
        return (
            (output * torch.linspace(-1, 1, output.shape[-1], dtype=output.dtype)).square().mean()
        )

    def step(model: nn.Module) -> list[Tensor]:
        """AOTAutograd gives zeros where eager leaves a parameter without a gradient."""
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        return training_step(loss_of, model)

    compare(model, step)
