"""`ingot doctor`."""

from __future__ import annotations

import json

import pytest
import torch
from click.testing import CliRunner

from ingot.cache.disk import disk_cache
from ingot.cli import main

from .call import ingot


def test_doctor_names_the_versions() -> None:
    result = CliRunner().invoke(main, ["doctor"])
    assert torch.__version__ in result.output
    assert "torch-mlir" in result.output
    assert "iree-base-compiler" in result.output


def test_doctor_as_json() -> None:
    found = json.loads(ingot("doctor", "--json").output)
    rows = {row["name"]: row for row in found}
    assert rows["torch"]["value"] == torch.__version__ and not rows["torch"]["fatal"]
    assert {"CPU", "vectors", "threads", "cache"} <= rows.keys()


def test_doctor_fails_where_ingot_cannot_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.cli.doctor._requirements", lambda: {"torch": "==1.0"})
    assert "ingot needs ==1.0" in ingot("doctor", code=1).output


def test_doctor_says_why_there_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGOT_CACHE_MB", "0")
    disk_cache.cache_clear()
    try:
        text = " ".join(CliRunner().invoke(main, ["doctor"]).output.split())
    finally:
        disk_cache.cache_clear()
    assert "every process compiles anew: INGOT_CACHE_MB=0" in text
