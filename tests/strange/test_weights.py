"""Weights whose storage was freed or shrunk, as by FSDP: each way to read one raises, and works
again when the memory is restored. Each runs in its own process.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = """
import sys
import torch
from torch import nn
import ingot

class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(4, 4))

    def forward(self, x):
        return x * self.weight + 1

class Host(Scale):
    def forward(self, x):
        return torch.cumsum(self.weight, 0) + x

class Written(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.rand(4, 4))

    def forward(self, x):
        self.weight.add_(x.flip(0))
        return x * 2

module, entry, size = sys.argv[1:]
torch.manual_seed(0)
made = {"packed": lambda: nn.Linear(4, 4), "fused": Scale, "host": Host, "written": Written}
model = made[module]()
x = torch.rand(4, 4)
with torch.no_grad():
    call = ingot.compile(model, (x,)) if entry == "ahead" else torch.compile(model, backend="ingot")
    call(x)
    weight, kept = model.weight, model.weight.clone()
    weight.untyped_storage().resize_(int(size))
    try:
        call(x)
    except ingot.IngotError as error:
        assert "storage" in str(error), error
    else:
        sys.exit("no error")
    weight.untyped_storage().resize_(64)
    weight.copy_(kept)
    torch.testing.assert_close(call(x), model(x) if module != "written" else x * 2)
"""


@pytest.mark.parametrize("size", [0, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize("entry", ["ahead", pytest.param("torch.compile", marks=pytest.mark.slow)])
@pytest.mark.parametrize("module", ["packed", "fused", "host", "written"])
def test_a_weight_without_memory_raises(module: str, entry: str, size: int) -> None:
    command = [sys.executable, "-W", "ignore", "-c", CODE, module, entry, str(size)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
