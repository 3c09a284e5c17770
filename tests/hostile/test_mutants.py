"""Mutants of valid files: each loads to a program that verifies, or raises one IngotError. None
runs code, and none kills or hangs the loading process.
"""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from .corpus import PROGRAMS
from .files import File, at, places, shape
from .harness import Outcome, check, load_all
from .mutants import code, mutant

QUICK, ALL = 240, 2000


def _load_mutants(saved: dict[str, Path], folder: Path, seeds: range) -> list[Outcome]:
    names = list(saved)
    canary = folder / "canary"
    files, done = [], []
    for seed in seeds:
        files.append(folder / f"{seed}.ingot")
        done.append(mutant(seed, saved[names[seed % len(names)]], files[-1], canary))
    outcomes = load_all(files, folder)
    for seed, outcome, what in zip(seeds, outcomes, done, strict=True):
        try:
            check(outcome)
        except AssertionError as error:
            raise AssertionError(f"seed {seed} ({names[seed % len(names)]}): {what}") from error
    assert not canary.exists()
    return outcomes


def test_some_mutants(saved: dict[str, Path], tmp_path: Path) -> None:
    outcomes = _load_mutants(saved, tmp_path, range(QUICK))
    refused = sum(bool(outcome.error) for outcome in outcomes)
    assert refused > QUICK // 2


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(8))
def test_mutants(batch: int, saved: dict[str, Path], tmp_path: Path) -> None:
    count = ALL // 8
    _load_mutants(saved, tmp_path, range(QUICK + batch * count, QUICK + (batch + 1) * count))


@pytest.mark.parametrize(
    "name",
    [n if n == "structured" else pytest.param(n, marks=pytest.mark.slow) for n in PROGRAMS],
)
def test_code_in_every_place(name: str, saved: dict[str, Path], tmp_path: Path) -> None:
    """Once for each kind of location in a file."""
    canary, files, seen = tmp_path / "canary", [], set()
    source = File.read(saved[name])
    for member in ("graph", "program"):
        document = getattr(source, member)
        for path, value in places(document):
            kind = (member, *shape(path), type(value))
            if not path or kind in seen or isinstance(value, dict | list):
                continue
            seen.add(kind)
            changed = copy.deepcopy(document)
            at(changed, path[:-1])[path[-1]] = code(canary)
            file = File(source.graph, source.program, source.tensors)
            setattr(file, member, changed)
            files.append(file.write(tmp_path / f"{len(files)}.ingot"))
    for outcome in load_all(files, tmp_path):
        check(outcome)
    assert not canary.exists()
