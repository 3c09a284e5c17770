"""A second process compiles nothing that the first one compiled, neither modules nor programs,
through both entry points; damaged entries are compiled anew; code for another machine is another
entry."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import json, sys
import torch
from torch import nn
import ingot
from ingot.codegen.jit import jit

made = []
compiled = jit.object_code
def counted(*args):
    made.append(args)
    return compiled(*args)
jit.object_code = counted

from ingot import pipeline
planned = []
within = pipeline._within
def counted(*args):
    planned.append(args)
    return within(*args)
pipeline._within = counted

torch.manual_seed(0)
x = torch.randn(2, 3, 8, 8)
torch.manual_seed(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 32), nn.LayerNorm(32), nn.GELU(),
    nn.Linear(32, 4), nn.Softmax(-1),
).eval()
with torch.no_grad():
    expected = model(x)
    for run in (torch.compile(model, backend="ingot"), ingot.compile(model, (x,))):
        torch.testing.assert_close(run(x), expected, rtol=1e-4, atol=1e-5)
loss = torch.compile(lambda y: (y.sin() * y).sum(), backend="ingot")
y = torch.randn(100, requires_grad=True)
loss(y).backward()
torch.testing.assert_close(y.grad, (y.cos() * y + y.sin()).detach())
from ingot import cache
entries = cache.stats().entries
print(json.dumps({"compiled": len(made), "planned": len(planned), "entries": entries}))
"""


def run(folder: Path, *words: str, program: str = PROGRAM, **environment: str) -> Any:
    result = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=600,
        env={**os.environ, "INGOT_CACHE_DIR": str(folder), "INGOT_CACHE_MB": "64", **environment},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


def test_the_second_process_compiles_nothing(tmp_path: Path) -> None:
    first, second = run(tmp_path), run(tmp_path)
    assert first["compiled"] > 5 and first["planned"] == 4
    assert second == {"compiled": 0, "planned": 0, "entries": first["entries"]}


@pytest.mark.slow
def test_damaged_entries_are_compiled_anew(tmp_path: Path) -> None:
    first = run(tmp_path)
    damaged = 0
    for path in tmp_path.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            path.write_bytes(data[: len(data) // 2])
            damaged += path.parent != tmp_path  # the log of misses is no entry
    again = run(tmp_path)
    assert damaged == first["entries"] and again == first


@pytest.mark.slow
def test_weights_are_not_in_the_key(tmp_path: Path) -> None:
    """Each process compares with eager."""
    run(tmp_path, "1")
    other = run(tmp_path, "2")
    assert (other["compiled"], other["planned"]) == (0, 0)


@pytest.mark.slow
def test_a_read_only_folder_is_read(tmp_path: Path) -> None:
    """By a user without rights, or, since those of root hold everywhere, on a full disk."""
    first = run(tmp_path / "code")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for path in [tmp_path / "code", *(tmp_path / "code").rglob("*")]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        second = run(tmp_path / "code")
    finally:
        for path in [tmp_path / "code", *(tmp_path / "code").rglob("*")]:
            path.chmod(0o700 if path.is_dir() else 0o600)
    assert second == {"compiled": 0, "planned": 0, "entries": first["entries"]}
    assert before == {path: path.read_bytes() for path in before}


@pytest.mark.slow
@pytest.mark.parametrize("home", ["/nonexistent", "relative"])
def test_without_a_home(tmp_path: Path, home: str) -> None:
    found = run(tmp_path, INGOT_CACHE_DIR="", HOME=home, XDG_CACHE_HOME=home)
    assert found["planned"] == 4


@pytest.mark.slow
def test_other_machines_have_other_entries(tmp_path: Path) -> None:
    first = run(tmp_path)
    narrow = run(tmp_path, INGOT_MACHINE="x86-64-v3")
    assert (
        narrow["compiled"] > 5 and narrow["planned"] == 4 and narrow["entries"] > first["entries"]
    )
    for again in (run(tmp_path, INGOT_MACHINE="x86-64-v3"), run(tmp_path)):
        assert (again["compiled"], again["planned"]) == (0, 0)


@pytest.mark.slow
def test_threads_user_home_and_folder_are_not_in_the_key(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    run(tmp_path / "a", OMP_NUM_THREADS="1")
    (tmp_path / "a").rename(tmp_path / "b")
    other = {"HOME": str(tmp_path / "home"), "USER": "other", "HOSTNAME": "other"}
    found = run(tmp_path / "b", OMP_NUM_THREADS="2", **other)
    assert (found["compiled"], found["planned"]) == (0, 0)
