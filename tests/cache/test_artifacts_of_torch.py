"""torch.compiler.save_cache_artifacts holds the code that a process used, and a process that loads
them compiles nothing, without a cache on disk. Damaged entries are ignored."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ingot.backend.cache_artifacts import TYPE, CodeArtifact
from ingot.codegen.jit import code_store
from ingot.codegen.jit.code_store import Module, Origin, packed_source

PROGRAM = """
import json, sys, threading
from pathlib import Path
import torch
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
def planning(*args):
    planned.append(args)
    return within(*args)
pipeline._within = planning

f = torch.compile(lambda x, y: (x.sin() @ y).softmax(-1), backend="ingot")
file, loads = Path(sys.argv[1]), sys.argv[2] == "load"
loaded = torch.compiler.load_cache_artifacts(file.read_bytes()) if loads else None
x, y = torch.randn(5, 6, dtype=torch.float64), torch.randn(6, 7, dtype=torch.float64)
torch.testing.assert_close(f(x, y), (x.sin() @ y).softmax(-1))
for thread in set(threading.enumerate()) - {threading.main_thread()}:
    if not thread.daemon:
        thread.join()  # it compiles what a program of this kind may need
data, info = torch.compiler.save_cache_artifacts()
if not loads:
    file.write_bytes(data)
keys = [sorted(each.ingot_artifacts) for each in (info, loaded) if each is not None]
print(json.dumps({"compiled": len(made), "planned": len(planned), "keys": keys}))
"""


def run(file: Path, way: str, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(file), way],
        env={**os.environ, "INGOT_CACHE_MB": "0", **environment},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_a_process_that_loads_artifacts_compiles_nothing(tmp_path: Path) -> None:
    first = run(tmp_path / "artifacts", "save")
    assert first["compiled"] and len(first["keys"][0]) >= first["compiled"]
    second = run(tmp_path / "artifacts", "load")
    assert second["compiled"] == 0
    saved, loaded = second["keys"]
    assert loaded == first["keys"][0] and saved == loaded  # what was used can be saved again


@pytest.mark.slow
def test_programs_are_among_them(tmp_path: Path) -> None:
    cache = {"INGOT_CACHE_MB": "64", "INGOT_CACHE_DIR": str(tmp_path / "code")}
    assert run(tmp_path / "artifacts", "save", **cache)["planned"] == 1
    second = run(tmp_path / "artifacts", "load")
    assert (second["compiled"], second["planned"]) == (0, 0)


def test_the_type_is_registered() -> None:
    from torch.compiler._cache import CacheArtifactFactory

    made = CacheArtifactFactory.create(TYPE, "a" * 32, b"content")
    assert isinstance(made, CodeArtifact) and made.type() == "ingot"


@pytest.mark.parametrize("key", ["a" * 32, "../x", "fits"])
def test_damaged_artifacts_are_ignored(key: str, caplog: pytest.LogCaptureFixture) -> None:
    origin = Origin("3", "a compiler", "x86-64-v3", "a lowering")
    entry = Module(packed_source("text"), b"\x7fELF", origin.encoded()).entry()
    key = origin.key("text") if key == "fits" else key
    with caplog.at_level(logging.WARNING, "ingot.cache"):
        CodeArtifact(key, entry).populate_cache()
    assert "a cache artifact is ignored" in caplog.text
    assert key == "../x" or not list(code_store.stored([key]))
    assert [record.name for record in caplog.records] == ["ingot.cache"]
