"""The command line as users call it."""

from __future__ import annotations

import pytest
import torch
from click.testing import CliRunner

from ingot.cache.disk import disk_cache
from ingot.cli import main


def test_doctor_names_the_versions() -> None:
    result = CliRunner().invoke(main, ["doctor"])
    assert torch.__version__ in result.output
    assert "torch-mlir" in result.output
    assert "iree-base-compiler" in result.output


def test_doctor_says_why_there_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGOT_CACHE_MB", "0")
    disk_cache.cache_clear()
    try:
        text = " ".join(CliRunner().invoke(main, ["doctor"]).output.split())
    finally:
        disk_cache.cache_clear()
    assert "every process compiles anew: INGOT_CACHE_MB=0" in text
