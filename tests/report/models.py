"""Models whose reports are tested: a block with an epilogue, an op without native code and values
in the arena."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import ingot
from ingot.explain.report import Report


class Block(nn.Module):
    def __init__(self, width: int = 32):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        hidden = F.gelu(self.up(self.norm(x)))
        return x + self.down(hidden)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return torch.softmax(torch.special.airy_ai(x), -1)


def explained() -> Report:
    torch.manual_seed(0)
    with torch.no_grad():
        return ingot.explain(Model().eval(), (torch.randn(16, 32),))
