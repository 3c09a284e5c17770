"""Small networks in plain PyTorch: common hand-written architectures. Each builder returns a module
with random weights and its arguments.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Workload = tuple[nn.Module, tuple[Tensor, ...]]


class ConvNorm(nn.Sequential):
    def __init__(
        self, inputs: int, outputs: int, kernel: int = 3, stride: int = 1, groups: int = 1
    ):
        super().__init__(
            nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(outputs),
        )


class Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.first = ConvNorm(inputs, outputs, 3, stride)
        self.second = ConvNorm(outputs, outputs)
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else ConvNorm(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.second(F.relu(self.first(x))) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(ConvNorm(3, 8, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.stages = nn.Sequential(Residual(8, 8, 1), Residual(8, 16, 2), Residual(16, 16, 1))
        self.head = nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(F.adaptive_avg_pool2d(self.stages(self.stem(x)), 1).flatten(1))


class InvertedResidual(nn.Module):
    """Expand, depthwise convolution, squeeze and excite, project."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        width = 4 * inputs
        self.expand = ConvNorm(inputs, width, 1)
        self.depthwise = ConvNorm(width, width, 3, stride, groups=width)
        self.squeeze = nn.Conv2d(width, width // 4, 1)
        self.excite = nn.Conv2d(width // 4, width, 1)
        self.project = ConvNorm(width, outputs, 1)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu6(self.depthwise(F.hardswish(self.expand(x))))
        scale = F.relu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))
        y = self.project(y * F.hardsigmoid(self.excite(scale)))
        return x + y if self.residual else y


class MobileNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = ConvNorm(3, 8, 3, 2)
        self.blocks = nn.Sequential(
            InvertedResidual(8, 8, 1), InvertedResidual(8, 12, 2), InvertedResidual(12, 12, 1)
        )
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(12, 10))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(F.hardswish(self.stem(x))).mean((2, 3)))


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([self.block(3, 8), self.block(8, 16)])
        self.middle = self.block(16, 32)
        self.up = nn.ModuleList([nn.ConvTranspose2d(32, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)])
        self.merge = nn.ModuleList([self.block(32, 16), self.block(16, 8)])
        self.head = nn.Conv2d(8, 2, 1)

    @staticmethod
    def block(inputs: int, outputs: int) -> nn.Module:
        conv = nn.Conv2d(inputs, outputs, 3, padding=1)
        return nn.Sequential(conv, nn.GroupNorm(4, outputs), nn.SiLU())

    def forward(self, x: Tensor) -> Tensor:
        skips = []
        for block in self.down:
            x = block(x)
            skips.append(x)
            x = F.max_pool2d(x, 2)
        x = self.middle(x)
        for up, merge, skip in zip(self.up, self.merge, reversed(skips), strict=True):
            x = merge(torch.cat([up(x), skip], 1))
        return self.head(F.interpolate(x, scale_factor=2, mode="bilinear"))


class Recommender(nn.Module):
    """Embedding tables, an MLP over dense features, all pairwise dot products, one score."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList([nn.EmbeddingBag(50, 8, mode="sum") for _ in range(3)])
        self.bottom = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(8 + 6, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, dense: Tensor, ids: Tensor, offsets: Tensor) -> Tensor:
        x = self.bottom(dense)
        features = [x, *(t(i, o) for t, i, o in zip(self.tables, ids, offsets, strict=True))]
        stacked = torch.stack(features, 1)
        products = stacked @ stacked.transpose(1, 2)
        row, column = torch.tril_indices(4, 4, -1)
        return self.top(torch.cat([x, products[:, row, column]], 1)).sigmoid().squeeze(1)


class Recurrent(nn.Module):
    def __init__(self, kind: str):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.cell = getattr(nn, kind)(8, 12, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(24, 20)

    def forward(self, ids: Tensor) -> Tensor:
        y, _ = self.cell(self.embed(ids))
        return self.head(torch.tanh(y))


class Perceptron(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(
            nn.Linear(12, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 32), nn.SiLU(),
            nn.BatchNorm1d(32), nn.Dropout(0.1), nn.Linear(32, 6), nn.LogSoftmax(-1),
        )  # fmt: skip


def images(count: int = 2, size: int = 32) -> Tensor:
    return torch.randn(count, 3, size, size)


BUILDERS = {
    "perceptron": lambda: (Perceptron(), (torch.randn(8, 12),)),
    "resnet": lambda: (ResNet(), (images(),)),
    "mobilenet": lambda: (MobileNet(), (images(),)),
    "unet": lambda: (UNet(), (images(1, 16),)),
    "lstm": lambda: (Recurrent("LSTM"), (torch.randint(0, 20, (3, 5)),)),
    "gru": lambda: (Recurrent("GRU"), (torch.randint(0, 20, (3, 5)),)),
    "recommender": lambda: (
        Recommender(),
        (torch.randn(4, 5), torch.randint(0, 50, (3, 10)), torch.tensor([[0, 3, 5, 8]] * 3)),
    ),
    "encoder": lambda: (
        nn.TransformerEncoder(
            nn.TransformerEncoderLayer(16, 2, 32, 0.1, "gelu", batch_first=True), 2,
            enable_nested_tensor=False,
        ),
        (torch.randn(2, 7, 16),),
    ),
    "transformer": lambda: (
        nn.Transformer(16, 2, 1, 1, 32, 0.1, batch_first=True),
        (torch.randn(2, 5, 16), torch.randn(2, 4, 16)),
    ),
}  # fmt: skip
