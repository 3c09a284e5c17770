"""`ingot export`, run as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ingot.cli import main

MODEL = """
import torch
from torch import nn

def make_model():
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU()).eval(), (torch.randn(2, 4),)

def airy():
    return lambda x: torch.special.airy_ai(x), (torch.randn(3, 2),)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose path is longer than a line."""
    path = tmp_path.joinpath(*["a folder of a deep tree"] * 4)
    path.mkdir(parents=True)
    return path


@pytest.fixture
def model(folder: Path) -> Path:
    path = folder / "exported_model.py"
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


def test_files_as_json(model: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.mlir"
    command = ["export", f"{model}:make_model", "--to", "linalg", "-o", str(output), "--json"]
    found = json.loads(CliRunner().invoke(main, command).output)
    files = [str(output), str(tmp_path / "out.safetensors")]
    assert found == {"dialect": "linalg", "files": files, "verified": ""}


def test_what_a_dialect_cannot_take_is_a_table(model: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.mlir"
    command = ["export", f"{model}:airy", "--to", "tosa", "-o", str(output)]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1
    assert "special_airy_ai" in result.output
    assert f"{model}:9" in result.output, "in one piece"
    assert not output.exists()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["missing.py:make", "--to", "tosa"], "missing.py"),
        (["torch:sin", "--to", "toss", "--input", "3"], "did you mean 'tosa'"),
        (["torch:sin", "--to", "tosa", "--input", "3", "-o", "no/where.mlir"], "cannot write"),
        (["torch:sin", "--input", "3"], "stablehlo  StableHLO"),
        (["torch:sin", "--input", "3"], "iree       a .vmfb"),
        (["torch:sin", "--to", "tosa", "--input", "3", "--json"], "give --output as well"),
    ],
)
def test_bad_words_are_told(command: list[str], why: str) -> None:
    result = CliRunner().invoke(main, ["export", *command])
    assert result.exit_code != 0
    assert why in result.output


def test_partial_writes_what_can_be_written(model: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.mlir"
    command = ["export", f"{model}:airy", "--to", "tosa", "-o", str(output), "--partial"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert 'ingot.op = "special_airy_ai"' in output.read_text()


def test_iree_files_are_written(model: Path, tmp_path: Path) -> None:
    pytest.importorskip("iree.compiler")
    output = tmp_path / "out.vmfb"
    command = ["export", f"{model}:make_model", "--to", "iree", "-o", str(output)]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert output.stat().st_size > 0
    assert (tmp_path / "out.irpa").stat().st_size > 0, "weights are outside"


def test_a_folder_that_cannot_be_written_is_left_as_it_was(model: Path, tmp_path: Path) -> None:
    """Neither of the two output files is written without the other."""
    (tmp_path / "out.safetensors").mkdir()
    output = tmp_path / "out.mlir"
    before = sorted(tmp_path.iterdir())
    command = ["export", f"{model}:make_model", "--to", "linalg", "-o", str(output)]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1
    assert "cannot write" in result.output
    assert sorted(tmp_path.iterdir()) == before


def test_what_cannot_be_traced_is_told_without_internal_frames(folder: Path) -> None:
    path = folder / "branching_model.py"
    path.write_text(
        "import torch\n\ndef branches(x):\n    if x.sum() > 0:\n        return x\n    return -x\n"
    )
    result = CliRunner().invoke(
        main, ["export", f"{path}:branches", "--to", "tosa", "--input", "3"]
    )
    assert result.exit_code == 1
    assert f"{path}:4" in result.output, "in one piece"
    assert "torch.cond" in result.output
    assert "Traceback" not in result.output and "site-packages" not in result.output
