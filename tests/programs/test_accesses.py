"""Generated code never reads out of bounds, even if the value is unused: not the other side of a
guard, not memory that no phase wrote, not an operand broadcast along a dynamic size."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import Dim

import ingot
from ingot.errors import InputError

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, env=os.environ, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.parametrize(
    ("dtype", "sizes"),
    [
        ("float32", "static"),
        pytest.param("float32", "dynamic", marks=pytest.mark.slow),
        pytest.param("bfloat16", "static", marks=pytest.mark.slow),
        pytest.param("int64", "dynamic", marks=pytest.mark.slow),
    ],
)
def test_no_side_of_a_guard_reads_outside(dtype: str, sizes: str) -> None:
    """The pieces are next to protected pages."""
    assert "programs" in run("tests.programs.guarded_reads", dtype, sizes)


@pytest.mark.parametrize("cut", [3, 17, 32])
def test_a_value_below_a_guard_is_not_kept_for_the_next_phase(cut: int) -> None:
    """The first pass over the row computes `y` only partly; the second pass needs all of it."""

    def function(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = torch.erf(x) * torch.tanh(x)
        z = torch.cat([y[:, :cut], w[:, cut:]], 1)
        return y * z.sum(1, keepdim=True) + torch.sigmoid(y)

    args = torch.randn(6, 50), torch.randn(6, 50)
    compiled = ingot.compile(function, args)
    torch.testing.assert_close(compiled(*args), function(*args), rtol=1e-5, atol=1e-5)


ONE = {
    "addcmul": lambda x: torch.addcmul(x @ x.t(), x @ x.t(), x[:, :2]),
    "add": lambda x: (x @ x.t()) + x[:, :2],
    "where": lambda x: torch.where((x @ x.t()) > 0, x @ x.t(), x[:, :2]),
    "expand": lambda x: (x @ x.t()).expand(-1, 2) + 1,
}


@pytest.mark.parametrize("name", ONE)
def test_a_dynamic_size_of_one_in_the_example(name: str) -> None:
    function: Callable[..., Any] = ONE[name]
    x = torch.randn(1, 4)
    compiled = ingot.compile(function, (x,), dynamic_shapes=({0: Dim.AUTO},))
    torch.testing.assert_close(compiled(x), function(x))
    two = torch.randn(2, 4)
    try:
        got = compiled(two)
    except InputError:
        return
    torch.testing.assert_close(got, function(two))


DPT = """
import torch
from transformers import DPTConfig, DPTForDepthEstimation
torch.manual_seed(0)
config = DPTConfig(
    hidden_size=32, num_hidden_layers=4, num_attention_heads=4, intermediate_size=64,
    image_size=64, patch_size=16, backbone_out_indices=[0, 1, 2, 3],
    neck_hidden_sizes=[16, 32, 32, 32], fusion_hidden_size=32, is_hybrid=False,
)
model = DPTForDepthEstimation(config).eval()
compiled = torch.compile(model, backend="ingot")
with torch.no_grad():
    for batch in (2, 3, 5):
        x = torch.randn(batch, 3, 64, 64)
        torch.testing.assert_close(compiled(x).predicted_depth, model(x).predicted_depth)
"""


@pytest.mark.slow
def test_depth_estimation_at_three_batch_sizes() -> None:
    pytest.importorskip("transformers")
    done = subprocess.run([sys.executable, "-c", DPT], cwd=ROOT, env=os.environ, text=True)
    assert done.returncode == 0
