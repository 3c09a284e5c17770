"""Failures: of the user's program, of ingot, of the command line. Each is a message and an exit
code."""

from __future__ import annotations

import logging
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner

from ingot.cli import main
from ingot.errors import FallbackWarning

from .call import failed, flat, ingot, refused


@pytest.mark.parametrize("command", ["run", "compile", "explain", "bench", "export"])
def test_a_wrong_shape_is_the_models_own_error(
    folder: Path, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ("--to", "linalg") if command == "export" else ()
    told = failed(command, "users_net.py:Net", "-i", "2x7", *words)
    assert told.startswith("Error: RuntimeError: mat1 and mat2 shapes cannot be multiplied")
    assert f"at {folder / 'users_net.py'}:12" in told
    assert "y = self.drop(self.linear(x)).relu()" in told
    assert "calling users_net.py:Net with x: float32[2, 7]" in told
    assert "site-packages" not in told and "_dynamo" not in told
    assert "Traceback" not in capfd.readouterr().err, "nor is it logged"


def test_a_model_without_lines_of_the_users(folder: Path) -> None:
    told = failed("run", "users_net:model.linear", "-i", "2x7")
    assert "mat1 and mat2" in told and "inside of PyTorch or a library" in told


def test_a_factory_that_raises(folder: Path) -> None:
    told = failed("run", "users_net:broken")
    assert told.startswith("Error: ValueError: no such weights")
    assert f"at {folder / 'users_net.py'}:38" in told and "calling users_net:broken()" in told


def test_what_ingot_refuses(folder: Path) -> None:
    told = failed("compile", "users_net.py:branches", "-i", "3")
    assert "Error: the program could not be captured" in told
    assert f"{folder / 'users_net.py'}:42" in told and "torch.cond" in told


def test_damaged_files(folder: Path) -> None:
    Path("bad.ingot").write_bytes(b"PK" * 40)
    for command in ("run", "explain", "bench"):
        assert "Error: the file cannot be loaded: bad.ingot: " in failed(command, "bad.ingot")


def test_a_bug_has_an_exit_code_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> NoReturn:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr("ingot.compile", fail)
    told = ingot("run", "users_net:make_model", code=3).output
    assert "ZeroDivisionError: of ours" in told and "bug in ingot" in told
    result = CliRunner().invoke(main, ["--traceback", "run", "users_net:make_model"])
    assert result.exit_code == 3 and "Traceback" in result.output
    assert "in fail" in result.output


def test_an_interrupt(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: Any, **kwargs: Any) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("ingot.compile", interrupt)
    ingot("run", "users_net:make_model", code=130)


def test_warnings_have_no_line_of_ingot(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(model: Any, *args: Any, **kwargs: Any) -> Any:
        warnings.warn("a stage failed\nwhy", FallbackWarning, stacklevel=1)
        return model

    monkeypatch.setattr("ingot.compile", warn)
    before = warnings.showwarning
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        told = ingot("run", "users_net:make_model").output
    assert "Warning: a stage failed\n  why" in told and ".py:" not in told
    assert warnings.showwarning is before
    assert not logging.getLogger("torch._dynamo.convert_frame").filters


def test_unknown_words(folder: Path) -> None:
    assert "did you mean 'explain'" in refused("explian")
    assert "Missing argument 'MODEL'" in refused("run")
    assert "No such option" in refused("run", "users_net:pair", "--chek")
    assert "did you mean 'float16'" in flat(
        ingot("run", "users_net:Net", "-i", "2:flaot16", code=2)
    )


def test_a_reader_that_stops_reading(folder: Path) -> None:
    """`ingot … | head` ends quietly."""
    command = f"{sys.executable} -m ingot.cli --help | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stdout.startswith("Usage: ingot") and done.stderr == ""
