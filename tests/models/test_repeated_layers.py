"""Repeated layers are compiled once: the number of kernels does not grow with depth."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ingot import observe
from ingot.stages import Compiled

from .judge import assert_near


class Layer(nn.Module):
    """Attention and a gated feed-forward network, each after a norm and with a residual."""

    def __init__(self, width: int = 16):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.RMSNorm(width)])
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.norms[0](x)).view(batch, length, 3, 2, width // 2)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mask = torch.ones(length, length, dtype=torch.bool).tril()
        scores = (q @ k.transpose(-1, -2) * 0.3).masked_fill(~mask, float("-inf"))
        mixed = scores.softmax(-1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        gate, value = self.up(self.norms[1](x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * value)


def transformer(layers: int) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(*(Layer() for _ in range(layers)))


def compiled_graphs(layers: int, *, train: bool) -> list[Compiled]:
    model = transformer(layers).train(train)
    x = torch.randn(2, 6, 16)
    heard: list[Compiled] = []
    compiled = torch.compile(model, backend="ingot", options={"strict": True})
    with observe.listening(heard.append), torch.set_grad_enabled(train):
        result: Tensor = compiled(x)
        if train:
            result.sum().backward()
    with torch.no_grad():
        assert_near(result.detach(), model(x), model.double()(x.double()), "result")
    return heard


@pytest.mark.parametrize(
    "train", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["inference", "training"]
)
def test_kernels_do_not_grow_with_depth(train: bool) -> None:
    few = compiled_graphs(4, train=train)
    torch._dynamo.reset()
    many = compiled_graphs(32, train=train)
    assert [graph.kernels for graph in many] == [graph.kernels for graph in few]
    assert all(
        len(m.fused.regions()) > len(f.fused.regions()) for m, f in zip(many, few, strict=True)
    )


def test_second_model_of_the_same_shape_compiles_nothing() -> None:
    """Kernels are shared between graphs of one process."""
    from ingot.codegen.loops import kernels

    compiled_graphs(2, train=False)
    torch._dynamo.reset()
    before = len(kernels._compiled)
    compiled_graphs(3, train=False)
    assert len(kernels._compiled) == before
