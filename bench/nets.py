"""The networks that are measured: real architectures, random weights with a fixed seed, nothing
downloaded. Each builder returns a module in eval mode and the arguments to call it with.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

Workload = tuple[nn.Module, tuple[Any, ...]]


class Bottleneck(nn.Module):
    """1×1 down, 3×3, 1×1 up to four times the width, added to the input."""

    def __init__(self, channels: int, width: int, stride: int):
        super().__init__()
        self.down = ConvNorm(channels, width, 1)
        self.spatial = ConvNorm(width, width, 3, stride)
        self.up = ConvNorm(width, 4 * width, 1)
        same = stride == 1 and channels == 4 * width
        self.shortcut = nn.Identity() if same else ConvNorm(channels, 4 * width, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = self.spatial(self.down(x).relu()).relu()
        return (self.up(y) + self.shortcut(x)).relu()


class ConvNorm(nn.Sequential):
    def __init__(self, channels: int, width: int, kernel: int, stride: int = 1):
        super().__init__(
            nn.Conv2d(channels, width, kernel, stride, padding=kernel // 2, bias=False),
            nn.BatchNorm2d(width),
        )


class ResNet(nn.Module):
    """The bottleneck residual network; (3, 4, 6, 3) blocks of width 64 upwards are ResNet-50."""

    def __init__(
        self, blocks: tuple[int, ...] = (3, 4, 6, 3), width: int = 64, classes: int = 1000
    ):
        super().__init__()
        self.stem = nn.Sequential(
            ConvNorm(3, width, 7, stride=2), nn.ReLU(), nn.MaxPool2d(3, stride=2, padding=1)
        )
        stages: list[nn.Module] = []
        channels = width
        for stage, count in enumerate(blocks):
            for index in range(count):
                stride = 2 if stage > 0 and index == 0 else 1
                stages.append(Bottleneck(channels, width << stage, stride))
                channels = 4 * (width << stage)
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.stages(self.stem(x)).mean((2, 3)))


def resnet(
    *, blocks: tuple[int, ...] = (3, 4, 6, 3), width: int = 64, batch: int = 1, pixels: int = 224
) -> Workload:
    torch.manual_seed(0)
    model = ResNet(blocks, width).eval()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            _settle(module)
    return model, (torch.randn(batch, 3, pixels, pixels),)


def _settle(norm: nn.BatchNorm2d) -> None:
    """Statistics as if trained: fresh ones (mean 0, variance 1) would hide a mistake in folding."""
    assert norm.running_mean is not None and norm.running_var is not None
    norm.running_mean.normal_(0.0, 0.1)
    norm.running_var.uniform_(0.5, 1.5)


def bert(*, layers: int = 12, width: int = 768, batch: int = 1, tokens: int = 128) -> Workload:
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=width // 64,
        intermediate_size=4 * width,
        return_dict=False,
    )
    return BertModel(config).eval(), (torch.randint(0, config.vocab_size, (batch, tokens)),)
