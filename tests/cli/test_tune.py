"""`ingot tune`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ingot.cli import main

SOURCE = """
import torch
import ingot

@ingot.dispatch(on=("x", 1), ranges=[16], budget=2)
def total(x: torch.Tensor) -> torch.Tensor:
    return x.sum(1)

@total.implementation()
def by_product(x):
    return x @ torch.ones(x.shape[1])

plain = abs
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("INGOT_TUNING", str(tmp_path / "tuning"))
    path = tmp_path / "totals.py"
    path.write_text(SOURCE)
    return str(path)


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["tune", *words])
    return result.exit_code, result.output


def test_tune(module: str, tmp_path: Path) -> None:
    picture = tmp_path / "total.svg"
    words = ("--input", "4x10", "--report", "--budget", "60")  # enough on a busy machine
    code, text = run(f"{module}:total", *words, "--plot", str(picture))
    assert code == 0, text
    assert "x: float32[4, *]" in text and "confidence" in text and "chosen" in text
    assert "<svg" in picture.read_text()
    assert list((tmp_path / "tuning").glob("total-*.json"))
    chosen = json.loads(run(f"{module}:total", *words[:2], "--json")[1])
    assert chosen["setting"] == "x: float32[4, *]" and chosen["chosen"]
    assert Path(chosen["file"]).parent == tmp_path / "tuning"
    code, again = run(f"{module}:total", *words)
    assert code == 0
    assert again.splitlines()[3] in text, "the second time it is read from the file"


def test_errors(module: str) -> None:
    assert "no dispatched operation" in run(f"{module}:plain")[1]
    assert "give them with --input" in run(f"{module}:total")[1]
    assert run(f"{module}:nothing")[0] == 2
    assert "a file.svg or a file.png" in run(f"{module}:total", "--plot", "a.pdf")[1]
