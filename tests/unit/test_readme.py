"""The README is true: its Python runs, its make targets exist, its option table is complete."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from ingot.options import Options

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def fenced(language: str) -> list[tuple[int, str]]:
    """Every block of code in `language`: the line it starts at, and its text."""
    blocks = re.finditer(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return [(README.count("\n", 0, block.start(1)) + 1, block[1]) for block in blocks]


@pytest.mark.parametrize(
    "code", [pytest.param(code, id=f"line {line}") for line, code in fenced("python")]
)
def test_snippet_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INGOT_TUNING", str(tmp_path))
    script = tmp_path / "snippet.py"
    script.write_text(code)
    runpy.run_path(str(script), run_name="__main__")


def test_readme_has_snippets() -> None:
    assert len(fenced("python")) >= 2


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    mentioned = set(re.findall(r"\bmake ([a-z-]+)\b", README))
    assert mentioned >= {"demo", "test"}
    assert mentioned <= targets


def test_option_table_is_complete() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(.*?)` \|", README, re.MULTILINE)
    defaults = {field.name: repr(field.default).replace("'", '"') for field in fields(Options)}
    assert dict(rows) == defaults


@pytest.mark.slow
def test_demo_runs() -> None:
    command = [sys.executable, "bench/demo.py", "--quick", "--rounds", "2"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "speed-up" in run.stdout
