"""`ingot export`, as a user starts it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from ingot.cli import main

MODEL = """
import torch
from torch import nn

def make_model():
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU()).eval(), (torch.randn(2, 4),)

def scatter():
    return lambda x: x.scatter_add(0, torch.tensor([[0, 1]]), x), (torch.randn(3, 2),)
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "exported_model.py"
    path.write_text(MODEL)
    return path


def test_files_are_written_and_verified(model: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.mlir"
    command = ["export", f"{model}:make_model", "--to", "tosa", "-o", str(output), "--verify"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert "tosa.matmul" in output.read_text()
    assert (tmp_path / "out.safetensors").exists()
    assert "equal" in result.output


def test_what_a_dialect_cannot_take_is_a_table(model: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.mlir"
    command = ["export", f"{model}:scatter", "--to", "tosa", "-o", str(output)]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1
    assert "scatter_add" in result.output
    assert not output.exists()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["missing.py:make", "--to", "tosa"], "missing.py"),
        (["torch:sin", "--to", "toss", "--input", "3"], "did you mean 'tosa'"),
        (["torch:sin", "--to", "tosa", "--input", "3", "-o", "no/where.mlir"], "cannot write"),
    ],
)
def test_bad_words_are_told(command: list[str], why: str) -> None:
    result = CliRunner().invoke(main, ["export", *command])
    assert result.exit_code != 0
    assert why in result.output
