"""Measured networks that need only PyTorch: convolutional, recurrent, recommendation, dense."""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ingot.bench.workload import Workload


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
    def __init__(self, channels: int, width: int, kernel: int, stride: int = 1, groups: int = 1):
        super().__init__(
            nn.Conv2d(
                channels, width, kernel, stride, padding=kernel // 2, groups=groups, bias=False
            ),
            nn.BatchNorm2d(width),
        )


class ResNet(nn.Module):
    """The bottleneck residual network; (3, 4, 6, 3) blocks from width 64 are ResNet-50."""

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
    return settled(ResNet(blocks, width)), (torch.randn(batch, 3, pixels, pixels),)


def settled(model: nn.Module) -> nn.Module:
    """In eval mode with statistics as if trained: initial ones (mean 0, variance 1) would hide a
    mistake in folding."""
    for norm in model.modules():
        if isinstance(norm, nn.BatchNorm2d):
            assert norm.running_mean is not None and norm.running_var is not None
            norm.running_mean.normal_(0.0, 0.1)
            norm.running_var.uniform_(0.5, 1.5)
    return model.eval()


class InvertedResidual(nn.Module):
    """1×1 up to `grow` times the width, depthwise 3×3, 1×1 down."""

    def __init__(self, channels: int, width: int, stride: int, grow: int):
        super().__init__()
        inner = channels * grow
        layers: list[nn.Module] = []
        if grow != 1:
            layers += [ConvNorm(channels, inner, 1), nn.ReLU6()]
        layers += [ConvNorm(inner, inner, 3, stride, groups=inner), nn.ReLU6()]
        self.layers = nn.Sequential(*layers, ConvNorm(inner, width, 1))
        self.residual = stride == 1 and channels == width

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.residual else self.layers(x)


MOBILENET_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Growth, width, blocks and the first block's stride, stage by stage."""


class MobileNet(nn.Module):
    """MobileNetV2 of width one."""

    def __init__(self, classes: int = 1000):
        super().__init__()
        layers: list[nn.Module] = [ConvNorm(3, 32, 3, 2), nn.ReLU6()]
        channels = 32
        for grow, width, count, stride in MOBILENET_STAGES:
            for index in range(count):
                step = stride if index == 0 else 1
                layers.append(InvertedResidual(channels, width, step, grow))
                channels = width
        self.features = nn.Sequential(*layers, ConvNorm(channels, 1280, 1), nn.ReLU6())
        self.head = nn.Linear(1280, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x).mean((2, 3)))


def mobilenet(*, batch: int = 1, pixels: int = 224) -> Workload:
    torch.manual_seed(0)
    return settled(MobileNet()), (torch.randn(batch, 3, pixels, pixels),)


class UNet(nn.Module):
    """Downsampling by pooling, upsampling by transposed convolutions, concatenated level by
    level."""

    def __init__(self, widths: tuple[int, ...] = (32, 64, 128, 256), classes: int = 2):
        super().__init__()
        pairs = list(itertools.pairwise(widths))
        self.first = two_convolutions(3, widths[0])
        self.down = nn.ModuleList(two_convolutions(a, b) for a, b in pairs)
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in reversed(pairs))
        self.join = nn.ModuleList(two_convolutions(2 * a, a) for a, _ in reversed(pairs))
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        levels = [self.first(x)]
        for down in self.down:
            levels.append(down(F.max_pool2d(levels[-1], 2)))
        x = levels.pop()
        for up, join in zip(self.up, self.join, strict=True):
            x = join(torch.cat([levels.pop(), up(x)], 1))
        return self.head(x)


def two_convolutions(channels: int, width: int) -> nn.Module:
    return nn.Sequential(
        ConvNorm(channels, width, 3), nn.ReLU(), ConvNorm(width, width, 3), nn.ReLU()
    )


def unet(*, batch: int = 1, pixels: int = 128) -> Workload:
    torch.manual_seed(0)
    return settled(UNet()), (torch.randn(batch, 3, pixels, pixels),)


class Tagger(nn.Module):
    """A label for each token, from a two-layer recurrent network."""

    def __init__(self, tokens: int = 10_000, width: int = 256, labels: int = 32):
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, labels)

    def forward(self, ids: Tensor) -> Tensor:
        y, _ = self.lstm(self.embed(ids))
        return self.head(y)


def lstm(*, batch: int = 8, tokens: int = 64) -> Workload:
    torch.manual_seed(0)
    return Tagger().eval(), (torch.randint(0, 10_000, (batch, tokens)),)


class Recommender(nn.Module):
    """Modelled on DLRM: sums of embeddings and a tower of dense features, their pairwise dot
    products, and a second tower that scores them."""

    def __init__(self, tables: int = 8, rows: int = 100_000, width: int = 64, dense: int = 13):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = tower(dense, 512, 256, width)
        pairs = torch.tril_indices(tables + 1, tables + 1, -1)
        self.pairs: Tensor
        self.register_buffer("pairs", pairs)
        self.top = nn.Sequential(tower(width + pairs.shape[1], 512, 256), nn.Linear(256, 1))

    def forward(self, dense: Tensor, ids: Tensor) -> Tensor:
        x = self.bottom(dense)
        bags = [table(ids[:, i]) for i, table in enumerate(self.tables)]
        features = torch.stack([x, *bags], 1)
        products = features @ features.transpose(1, 2)
        picked = products[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([x, picked], 1)).sigmoid()


def tower(*widths: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inner, outer in itertools.pairwise(widths):
        layers += [nn.Linear(inner, outer), nn.ReLU()]
    return nn.Sequential(*layers)


def recommender(*, batch: int = 128, bag: int = 4) -> Workload:
    torch.manual_seed(0)
    model = Recommender().eval()
    ids = torch.randint(0, 100_000, (batch, len(model.tables), bag))
    return model, (torch.randn(batch, 13), ids)


def mlp(*, batch: int = 32, width: int = 256) -> Workload:
    torch.manual_seed(0)
    half = width // 2
    layers = [nn.Linear(half, width), nn.GELU(), nn.Linear(width, width), nn.GELU()]
    return nn.Sequential(*layers, nn.Linear(width, half)).eval(), (torch.randn(batch, half),)


class Tiny(nn.Module):
    """One small kernel, to measure the overhead of a call."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x * 2.0 + 1.0)


def tiny() -> Workload:
    torch.manual_seed(0)
    return Tiny().eval(), (torch.randn(64),)


class Product(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return a @ b


def large_product(*, size: int = 2048) -> Workload:
    """The reference for the share of the machine's GEMM rate."""
    torch.manual_seed(0)
    return Product().eval(), (torch.randn(size, size), torch.randn(size, size))
