"""Networks in plain PyTorch, inference and one training step, against eager."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from .judge import as_default, compare, training_step
from .nets import BUILDERS, ConvNorm


@pytest.fixture(autouse=True)
def trace_recurrent_nets() -> Iterator[None]:
    """Dynamo breaks the graph at nn.LSTM and nn.GRU unless allow_rnn is set."""
    with torch._dynamo.config.patch(allow_rnn=True):
        yield


def without_dropout(model: nn.Module) -> nn.Module:
    """The reference runs in float64, which samples other random numbers."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if isinstance(module, nn.MultiheadAttention):
            module.dropout = 0.0
    return model


@pytest.mark.parametrize("name", BUILDERS)
def test_inference(name: str) -> None:
    model, args = BUILDERS[name]()
    settle(model.eval())

    def call(model: nn.Module) -> list[Tensor]:
        with torch.no_grad():
            return pytree.tree_leaves(model(*as_default(args)))

    compare(model, call)


@pytest.mark.parametrize("name", BUILDERS)
def test_training_step(name: str) -> None:
    model, args = BUILDERS[name]()
    without_dropout(model.train())
    target = torch.randint(0, 2, (1000,))

    def loss_of(model: nn.Module) -> Tensor:
        output = model(*as_default(args))
        logits = output.flatten(0, -2) if output.dim() > 1 else torch.stack([output, -output], 1)
        return F.cross_entropy(logits, target[: len(logits)] % logits.size(1))

    compare(model, lambda model: training_step(loss_of, model))


@pytest.mark.parametrize("name", ["resnet", "mobilenet"])
def test_channels_last(name: str) -> None:
    model, (x,) = BUILDERS[name]()
    settle(model.eval())
    model = model.to(memory_format=torch.channels_last)
    x = x.to(memory_format=torch.channels_last)

    def call(model: nn.Module) -> list[Tensor]:
        with torch.no_grad():
            return [model(as_default(x))]

    compare(model, call)


@pytest.mark.parametrize("name", ["perceptron", "encoder", "resnet"])
def test_dynamic_batch(name: str) -> None:
    """One compilation serves several batch sizes."""
    from torch._dynamo.utils import counters

    model, (x,) = BUILDERS[name]()
    settle(model.eval())
    compiled = torch.compile(model, backend="ingot", dynamic=True, options={"strict": True})
    counters.clear()
    with torch.no_grad():
        for batch in (4, 2, 7):
            sample = torch.randn(batch, *x.shape[1:])
            torch.testing.assert_close(compiled(sample), model(sample), rtol=1e-4, atol=1e-5)
    assert counters["stats"]["unique_graphs"] == 1


@pytest.mark.parametrize("name", ["perceptron", "resnet", "encoder"])
def test_bfloat16(name: str) -> None:
    model, args = BUILDERS[name]()
    settle(model.eval())

    def call(model: nn.Module) -> list[Tensor]:
        wide = torch.get_default_dtype() is torch.float64
        dtype = torch.float64 if wide else torch.bfloat16
        with torch.no_grad():
            return [model.to(dtype)(*(a.to(dtype) for a in args))]

    compare(model, call)


def settle(model: nn.Module) -> None:
    """Realistic batch-norm statistics: initial ones would hide a folding error."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
            assert module.running_mean is not None and module.running_var is not None
            module.running_mean.normal_(0.0, 0.1)
            module.running_var.uniform_(0.5, 1.5)


def test_convolution_and_norm_share_a_kernel() -> None:
    """In eval mode, batch norm and the following activation are fused into the convolution
    kernel."""
    net = nn.Sequential(ConvNorm(3, 8), nn.ReLU()).eval()
    settle(net)

    def call(model: nn.Module) -> list[Tensor]:
        with torch.no_grad():
            return [model(as_default(torch.linspace(-1, 1, 3 * 64).view(1, 3, 8, 8)))]

    (compiled,) = compare(net, call)
    assert compiled.fused.count("fallback") == 0
    assert compiled.kernels <= 2
