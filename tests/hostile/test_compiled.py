"""Files of compiled programs: each attack written by hand raises one FileError, each mutant too
unless it loads. None crashes, writes anything, or takes 2 seconds or 500 MB. They are loaded, not
called: what the machine code of a file does cannot be checked.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import ingot
from tests.artifact.models import CASES

from .compiled import ATTACKS, Artifact, Attack
from .harness import Outcome, check, load_all
from .mutants import changed, flipped

SECONDS, MEGABYTES = 2.0, 500.0
QUICK, ALL = 100, 2000
VICTIMS = ("mlp", "control_flow", "convolutions", "mutation")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, files = tmp_path_factory.mktemp("compiled"), {}
    for name in VICTIMS:
        case = CASES[name]()
        files[name] = folder / f"{name}.ingot"
        with torch.no_grad():
            exe = ingot.compile(case.model, case.calls[0], dynamic_shapes=case.dynamic_shapes)
            exe.save(files[name])
    return files


@pytest.fixture(scope="module")
def outcomes(
    saved: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Outcome]:
    folder = tmp_path_factory.mktemp("attacks")
    unchanged = Artifact.read(saved["mlp"]).write(folder / "unchanged.ingot")
    files = [folder / f"{attack.name}.ingot" for attack in ATTACKS]
    for attack, file in zip(ATTACKS, files, strict=True):
        attack.make(Artifact.read(saved["mlp"]), file)
    found = load_all([unchanged, *files], folder, how="compiled")
    assert not found[0].error, found[0]
    assert {path.name for path in folder.iterdir()} == {
        "files.json", "unchanged.ingot", *(file.name for file in files)
    }  # fmt: skip
    return {attack.name: outcome for attack, outcome in zip(ATTACKS, found[1:], strict=True)}


def test_names_are_distinct() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 50


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a.name)
def test_attack(attack: Attack, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[attack.name]
    check(outcome, SECONDS, MEGABYTES)
    assert outcome.error == "FileError", outcome
    assert re.search(attack.names, outcome.message), outcome.message


# -- mutants ---------------------------------------------------------------------------------------


def _of_the_file(rng: random.Random, source: Path, target: Path) -> str:
    data, done = flipped(rng, source.read_bytes())
    target.write_bytes(data)
    return done


def _of_a_member(rng: random.Random, source: Path, target: Path) -> str:
    """Damage that the digests in the manifest find."""
    file = Artifact.read(source)
    members = file.members()
    name = rng.choice([name for name in members if name.startswith("code/")])
    file.manifest["keep"] = dict(file.manifest["code"])
    file.raw[name], done = flipped(rng, members[name])
    file.write(target)
    return f"{name}: {done}"


def _of_a_document(rng: random.Random, source: Path, target: Path) -> str:
    file = Artifact.read(source)
    file.sizes = False
    canary = target.parent / "canary"
    name = rng.choice(("manifest", "table", "program.json", "graph.json"))
    for _ in range(rng.choice((1, 1, 2))):
        if name in file.others:
            document, done = changed(rng, json.loads(file.others[name]), canary)
            file.others[name] = json.dumps(document).encode()
        else:
            document, done = changed(rng, getattr(file, name), canary)
            setattr(file, name, document)
    file.write(target)
    return f"{name}: {done}"


def _of_the_plan(rng: random.Random, source: Path, target: Path) -> str:
    """Lines deleted, doubled and swapped, numbers and names changed, characters flipped."""
    file = Artifact.read(source)
    lines = file.plan.splitlines()
    for _ in range(rng.choice((1, 1, 2, 4))):
        k, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        kind = rng.choice(("delete", "double", "swap", "number", "word", "flip"))
        if kind == "delete":
            lines[k] = ""
        elif kind == "double":
            lines.insert(other, lines[k])
        elif kind == "swap":
            lines[k], lines[other] = lines[other], lines[k]
        elif kind == "number":
            number = str(rng.choice((0, -1, 2**31, 2**63, 10**30, 7)))
            lines[k] = re.sub(r"\d+", number, lines[k], count=1)
        elif kind == "word":
            words = re.findall(r"[%@]?\w+", lines[other]) or ["x"]
            word = rng.choice(words)
            lines[k] = re.sub(r"[%@]\w+", word, lines[k], count=1)
        elif lines[k]:
            at = rng.randrange(len(lines[k]))
            lines[k] = lines[k][:at] + chr(rng.randrange(32, 300)) + lines[k][at + 1 :]
    file.plan = "\n".join(lines) + "\n"
    file.write(target)
    return f"plan: {kind} at line {k}"


def _of_an_object(rng: random.Random, source: Path, target: Path) -> str:
    """Its header and tables, of a module that is linked and not run when the file is loaded."""
    file, done = Artifact.read(source), ""

    def edit(data: bytearray) -> None:
        nonlocal done
        start = int.from_bytes(data[40:48], "little")
        spots = [*range(64), *range(start, len(data))]
        for _ in range(rng.choice((1, 1, 4))):
            at = rng.choice(spots)
            data[at] = rng.choice((0, 1, 127, 128, 255, data[at] ^ (1 << rng.randrange(8))))
            done += f" {at}"

    file.edit_object(edit)
    file.write(target)
    return f"object:{done}"


KINDS: tuple[Callable[[random.Random, Path, Path], str], ...] = (
    _of_the_file, _of_a_member, _of_a_document, _of_a_document, _of_the_plan, _of_the_plan,
    _of_an_object,
)  # fmt: skip


def _load_mutants(saved: dict[str, Path], folder: Path, seeds: range) -> list[Outcome]:
    files, done = [], []
    for seed in seeds:
        rng = random.Random(seed)
        files.append(folder / f"{seed}.ingot")
        done.append(rng.choice(KINDS)(rng, saved[rng.choice(VICTIMS)], files[-1]))
    outcomes = load_all(files, folder, how="compiled")
    for seed, outcome, what in zip(seeds, outcomes, done, strict=True):
        try:
            check(outcome, SECONDS, MEGABYTES)
            assert outcome.error in ("", "FileError"), outcome
            assert outcome.error or not what.startswith("code/"), "damage went unnoticed"
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {what}") from error
    assert {path.name for path in folder.iterdir()} == {"files.json", *(f.name for f in files)}
    return outcomes


def test_some_mutants(saved: dict[str, Path], tmp_path: Path) -> None:
    outcomes = _load_mutants(saved, tmp_path, range(QUICK))
    assert sum(bool(outcome.error) for outcome in outcomes) > QUICK // 2


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(8))
def test_mutants(batch: int, saved: dict[str, Path], tmp_path: Path) -> None:
    count = ALL // 8
    _load_mutants(saved, tmp_path, range(QUICK + batch * count, QUICK + (batch + 1) * count))
