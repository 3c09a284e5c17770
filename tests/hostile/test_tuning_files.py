"""Damaged or hostile tuning files are ignored with one line in the log. Nothing is raised,
evaluated or printed, and the operation is measured again.
"""

from __future__ import annotations

import json
import logging
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import ingot
from ingot.dispatch.records import known_record, tuning_file

from .mutants import changed, code, flipped


def make() -> Any:
    @ingot.dispatch(on=("x", 0), ranges=[64])
    def double(x: Tensor) -> Tensor:
        return x * 2

    @double.implementation(name="sum")
    def by_sum(x: Tensor) -> Tensor:
        return x + x

    return double


X = torch.ones(50, 3)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The content of a valid tuning file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INGOT_TUNING", str(tmp_path_factory.mktemp("tuning")))
        op = make()
        op.tune(X)
        assert known_record(make(), {"x": X}) is not None
        return tuning_file(op).read_bytes()


@pytest.fixture
def good(tuned: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, bytes]:
    monkeypatch.setenv("INGOT_TUNING", str(tmp_path))
    return tuning_file(make()), tuned


def load(caplog: pytest.LogCaptureFixture) -> tuple[Any, list[str]]:
    """The record known without measuring, and the log."""
    caplog.clear()
    start = time.perf_counter()
    with caplog.at_level(logging.DEBUG, logger="ingot"):
        record = known_record(make(), {"x": X})
    assert time.perf_counter() - start < 20
    return record, [r.getMessage() for r in caplog.records if r.name == "ingot.dispatch"]


def _json(change: Callable[[Any], None]) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        content = json.loads(data)
        change(content)
        return json.dumps(content).encode()

    return changed


def _row(content: Any) -> Any:
    return content["records"][0]["table"]["rows"][0]


ATTACKS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "binary": lambda data: os.urandom(2000),
    "deep": lambda data: b"[" * 100_000,
    "deep objects": lambda data: b'{"a":' * 100_000,
    "nan": lambda data: data.replace(b'"confidence": ', b'"confidence": NaN, "x": '),
    "infinity": lambda data: data.replace(b'"confidence": ', b'"confidence": 1e999, "x": '),
    "digits": lambda data: b'{"format": ' + b"1" * 10_000 + b"}",
    "key twice": lambda data: b'{"format": 1, ' + data.lstrip()[1:],
    "millions": lambda data: b"[" + b"[]," * 3_000_000 + b"[]]",
    "utf-16": lambda data: data.decode().encode("utf-16"),
    "list": lambda data: b"[1, 2]",
    "null": lambda data: b"null",
    "no records": _json(lambda c: c.pop("records")),
    "records of text": _json(lambda c: c.update(records="text")),
    "unknown implementation": _json(lambda c: _row(c).update(serves="os.system")),
    "low of text": _json(lambda c: _row(c)["box"][0].update(low="1")),
    "low of a float": _json(lambda c: _row(c)["box"][0].update(low=1.5)),
    "empty range": _json(lambda c: _row(c)["box"][0].update(low=9, high=1)),
    "negative": _json(lambda c: _row(c)["box"][0].update(low=-5)),
    "two sizes": _json(lambda c: _row(c)["box"].append({"low": 1, "high": 2})),
    "no sizes": _json(lambda c: _row(c).update(box=[])),
    "confidence of text": _json(lambda c: _row(c).update(confidence="1")),
    "confidence below zero": _json(lambda c: _row(c).update(confidence=-1)),
    "setting of a list": _json(lambda c: c["records"][0].update(setting=[])),
    "samples of numbers": _json(lambda c: c["records"][0].update(samples=[1])),
    "sizes of a sample": _json(lambda c: c["records"][0]["samples"][0].update(sizes=[1, 2])),
    "disqualified of a list": _json(lambda c: c["records"][0].update(disqualified=[])),
    "machine of a list": _json(lambda c: c["made for"].update(machine=[1])),
    "format of a list": _json(lambda c: c.update(format=[1])),
    "more keys": _json(lambda c: c.update(more=1)),
    "lines in the log": _json(lambda c: c["made for"].update(torch="1\nCRITICAL: \x1b[31m")),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attack(
    name: str, good: tuple[Path, bytes], caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path, data = good
    path.write_bytes(ATTACKS[name](data))
    record, lines = load(caplog)
    assert record is None
    assert len(lines) == 1 and "is ignored" in lines[0]
    assert "\n" not in lines[0] and "\x1b" not in lines[0]
    assert capfd.readouterr().err == ""
    path.write_bytes(data)
    assert known_record(make(), {"x": X}) is not None


def test_a_pipe(good: tuple[Path, bytes], caplog: pytest.LogCaptureFixture) -> None:
    path, _ = good
    os.mkfifo(path)
    record, lines = load(caplog)
    assert record is None and len(lines) == 1


def test_a_directory(good: tuple[Path, bytes], caplog: pytest.LogCaptureFixture) -> None:
    path, _ = good
    path.mkdir()
    record, lines = load(caplog)
    assert record is None and len(lines) == 1


def _mutate(seed: int, data: bytes, canary: Path) -> bytes:
    rng = random.Random(seed)
    if rng.random() < 0.3:
        return flipped(rng, data)[0]
    return json.dumps(changed(rng, json.loads(data), canary)[0]).encode()


@pytest.mark.parametrize("count", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_mutants(
    count: int, good: tuple[Path, bytes], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Each mutant is used, if it is valid, or ignored with one line in the log."""
    path, data = good
    canary = tmp_path / "canary"
    for seed in range(count):
        path.write_bytes(_mutate(seed, data, canary))
        record, lines = load(caplog)
        assert len(lines) <= 1, (seed, lines)
        if record is None:
            continue
        for row in record.table.rows:
            assert row.serves in ("reference", "sum") and row.confidence >= 0, seed
            assert len(row.box) == 1 and row.box[0].low >= 0, seed
        record.table.merged()
    assert not canary.exists()
    assert code(canary)
