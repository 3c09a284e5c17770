"""Crashes, hangs and memory exhaustion of the helper process become exceptions with a command that
reproduces them. Also the cost of isolation."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import ingot
from ingot.emit import isolate
from ingot.emit.levels import PipelineStep

LLVM = PipelineStep(
    "to LLVM",
    "builtin.module(convert-cf-to-llvm,convert-arith-to-llvm,convert-func-to-llvm,"
    "reconcile-unrealized-casts)",
)
SPIN = """
func.func @main(%x: i64) -> i64 {
  cf.br ^bb1
^bb1:
  cf.br ^bb1
}
"""
READ_NOWHERE = """
func.func @main(%x: i64) -> i64 {
  %p = llvm.inttoptr %x : i64 to !llvm.ptr
  %y = llvm.load %p : !llvm.ptr -> i64
  return %y : i64
}
"""
MANY_TIMES = """
func.func @main(%m: memref<f32>) {
  affine.for %i = 0 to 1000000000 {
    %x = affine.load %m[] : memref<f32>
    %y = arith.addf %x, %x : f32
    affine.store %y, %m[] : memref<f32>
  }
  return
}
"""
UNROLL = PipelineStep(
    "unroll", "builtin.module(func.func(affine-loop-unroll{unroll-factor=1000000000}))"
)
DEEP = "module {\n" * 100_000 + "}\n" * 100_000
NOTHING = PipelineStep("nothing", "builtin.module()")


def run(text: str, limits: isolate.Limits, folder: Path) -> None:
    path = folder / "arguments"
    path.write_bytes(bytes(64))
    isolate.run(text, "main", [], LLVM, [{"value": 1}], str(path), limits)


def lower(text: str, step: PipelineStep, limits: isolate.Limits) -> None:
    isolate.lower(text, [step], limits)


Trouble = Callable[[Path], None]
TROUBLES: dict[str, tuple[Trouble, str, tuple[int, ...]]] = {
    "code that hangs": (
        lambda folder: run(SPIN, isolate.Limits(seconds=1.0), folder),
        "took longer",
        (-signal.SIGALRM,),
    ),
    "code that crashes": (
        lambda folder: run(READ_NOWHERE, isolate.USUAL, folder),
        "SIGSEGV",
        (-signal.SIGSEGV,),
    ),
    "a pipeline that hangs": (
        lambda folder: lower(MANY_TIMES, UNROLL, isolate.Limits(seconds=1.0)),
        "took longer",
        (-signal.SIGALRM,),
    ),
    "a pipeline that crashes": (
        lambda folder: lower(DEEP, NOTHING, isolate.USUAL),
        "SIGSEGV",
        (-signal.SIGSEGV,),
    ),
    "a pipeline that eats memory": (
        lambda folder: lower(MANY_TIMES, UNROLL, isolate.Limits(memory=1 << 30)),
        "needed more memory",
        (-signal.SIGABRT, -signal.SIGSEGV, 1),
    ),
}
"""The failing request, the text of the exception, and the allowed exit codes of the reproducer."""


@pytest.fixture(autouse=True)
def reproducers_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.mark.parametrize("name", TROUBLES)
def test_trouble_is_an_exception_that_one_command_repeats(name: str, tmp_path: Path) -> None:
    trouble, says, ends = TROUBLES[name]
    with pytest.raises(ingot.EmitError, match=says) as caught:
        trouble(tmp_path)
    command = caught.value.hints[0].removeprefix("to see it again: ")
    (tmp_path / "arguments").unlink(missing_ok=True)  # the reproducer is self-contained
    environment = {"PYTHONPATH": str(Path(ingot.__file__).parents[1])}
    again = subprocess.run(command.split(), check=False, capture_output=True, env=environment)
    assert again.returncode in ends, again.stderr
    folder = Path(command.split()[1]).parent
    assert (folder / "input.mlir").exists()
    assert json.loads((folder / "request.json").read_text())["seconds"] > 0
    x = torch.randn(3)
    ingot.export(torch.sin, (x,)).verify("linalg", (x,))  # the helper is still alive


def test_what_goes_well_goes_well_again() -> None:
    """The reproducer of a valid request prints its result."""
    from ingot.emit.reproduce import write_reproducer

    request = {"do": "lower", "module": "module {}", "steps": [("nothing", "builtin.module()")]}
    command = write_reproducer({**request, "calls": False, "seconds": 60.0, "memory": 1 << 34})
    environment = {"PYTHONPATH": str(Path(ingot.__file__).parents[1])}
    again = subprocess.run(
        command.split(), check=False, capture_output=True, text=True, env=environment
    )
    assert (again.returncode, again.stdout.strip()) == (0, "module {\n}"), again.stderr


def test_the_helper_that_is_gone_is_started_again() -> None:
    isolate.lower("module {}", [NOTHING], isolate.USUAL)
    assert isolate._helper is not None
    isolate._helper[1].kill()
    isolate._helper[1].wait()
    isolate.lower("module {}", [NOTHING], isolate.USUAL)


def test_isolation_costs_little() -> None:
    """A round trip to the warm helper, with a pipeline that does nothing."""
    isolate.lower("module {}", [NOTHING], isolate.USUAL)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        isolate.lower("module {}", [NOTHING], isolate.USUAL)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.150


def test_the_helper_imports_no_torch() -> None:
    code = "import sys, ingot.emit.worker; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
