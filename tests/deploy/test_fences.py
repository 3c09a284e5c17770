"""C programs read and write no byte beyond their arguments and the workspace that they ask for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.artifact.models import CASES
from tests.deploy.building import load, needs_cc, saved
from tests.programs.fences import fenced

pytestmark = [needs_cc, pytest.mark.slow]
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("name", ["mlp", "convolutions", "attention", "control_flow"])
def test_memory_between_protected_pages(name: str, before: bool, tmp_path: Path) -> None:
    """In a process of its own, which an access beyond would end."""
    code = f"from tests.deploy.test_fences import run\nrun({name!r}, {before}, {str(tmp_path)!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr


def run(name: str, before: bool, folder: str) -> None:
    def memory(size: int) -> Tensor:
        return fenced(torch.zeros(size, dtype=torch.uint8), before) if size else torch.empty(0)

    torch.manual_seed(0)
    case = CASES[name]()
    result = saved(case.model, case.calls[0], Path(folder), dynamic_shapes=case.dynamic_shapes)
    model = load(result)
    model.allocate = memory
    for call in case.calls:
        for threads in (1, 3):
            sizes = [call[0].shape[0]] if model.interface.sizes else []
            with torch.no_grad():
                model([fenced(tensor, before) for tensor in call], sizes, threads)
    print("ran")
