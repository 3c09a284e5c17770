from __future__ import annotations

from pathlib import Path

import pytest

from .corpus import PROGRAMS


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The saved programs of the corpus."""
    folder = tmp_path_factory.mktemp("saved")
    files = {}
    for name, make in PROGRAMS.items():
        files[name] = folder / f"{name}.ingot"
        make().save(files[name])
    return files
