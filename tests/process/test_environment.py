"""Without a home, a temporary folder or disk space everything works: without tuning files, and with
one line in the log."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ingot.dispatch.folders import has_tuning_files, tuning_folder, write_tuning_file
from tests.process.run import run_python

CONDITIONS = (
    "unknown user", "no home", "home is a file", "relative home", "closed home",
    "no temporary folder", "full disk", "odd option",
)  # fmt: skip
QUIET = ("no temporary folder",)
"""Conditions under which tuning files can be written."""
AS_ROOT = ("unknown user", "no home", "closed home")
"""Conditions that only root can set up."""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder accessible to other users; pytest's own is not."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o777)
        yield Path(name)
        os.chmod(name, 0o777)


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param(each, marks=() if each in ("unknown user", "full disk") else pytest.mark.slow)
        for each in CONDITIONS
    ],
)
def test_everything_works(condition: str, open_folder: Path) -> None:
    done = run_python(
        "-m", "tests.process.environment", condition, str(open_folder), timeout=400,
        env={"INGOT_TUNING": None, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    lines = json.loads(done.stdout.splitlines()[-1])
    if os.getuid() == 0 or condition not in AS_ROOT:
        assert len(lines) == (0 if condition in QUIET else 1), lines
    leftovers = [p.name for p in open_folder.rglob("*") if p.name.startswith(".") and p.is_file()]
    assert not leftovers


def test_folder_of_an_unknown_user(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    assert tuning_folder() is None
    assert not has_tuning_files()
    assert tuning_folder("here") == Path("here")


def test_home_that_may_not_be_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Path) -> bool:
        raise PermissionError("no")

    monkeypatch.setattr(Path, "is_dir", refused)
    assert not has_tuning_files()


def test_file_that_cannot_be_written_is_one_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    with caplog.at_level(logging.DEBUG, logger="ingot"):
        for name in ("a", "b"):
            write_tuning_file(tmp_path / "file" / "folder" / f"{name}.json", "{}")
    assert len(caplog.records) == 1


def test_writers_at_once_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    texts = [json.dumps([number] * 5000) for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda text: write_tuning_file(path, text), texts * 4))
    assert path.read_text() in texts
    assert [p.name for p in tmp_path.iterdir()] == ["file.json"]
