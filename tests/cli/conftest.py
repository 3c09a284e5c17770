"""A folder with a model of the user's, which is the working directory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.linear = nn.Linear(width, 8)
        self.drop = nn.Dropout()

    def forward(self, x, scale=None):
        y = self.drop(self.linear(x)).relu()
        return y if scale is None else y * scale


model = Net().eval()
pair = (model, (torch.ones(2, 16),))
number = 3


def make_model():
    return Net().eval(), (torch.randn(3, 16),)


def make_sized(width=16):
    return Net(width).eval()


def scaled(x, y):
    return torch.softmax(x * y, -1)


def nothing():
    return 3


def broken():
    raise ValueError("no such weights")


def branches(x):
    if x.sum() > 0:
        return x
    return -x
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Modules of it are forgotten after the test."""
    (tmp_path / "users_net.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    sys.modules.pop("users_net", None)  # of another test's folder
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]
