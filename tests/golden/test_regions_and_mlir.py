"""The text of regions and of the MLIR made of them, kept in `expected/`. `EXPECTTEST_ACCEPT=1
pytest tests/golden` writes the new text: look at the diff before you commit it. Vectors are pinned
to 256 bits, so that every machine writes the same.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ingot.codegen.kernels import draft_kernel
from ingot.fuse.fused import Fused
from ingot.fuse.group import fuse
from ingot.options import Options
from tests.unit.tracing import trace

from .functions import CASES

EXPECTED = Path(__file__).parent / "expected"
OPTIONS = Options(vector_bits=256)


def fused(name: str) -> Fused:
    case = CASES[name]
    return fuse(trace(case.function, *case.args, dynamic=case.dynamic).core(), OPTIONS)


def mlir(name: str) -> str:
    drafts = [draft_kernel(region, OPTIONS) for region in fused(name).regions()]
    return "\n".join(draft.text for draft in drafts)


def compare(text: str, file: Path) -> None:
    text = text.rstrip() + "\n"
    if os.environ.get("EXPECTTEST_ACCEPT"):
        EXPECTED.mkdir(exist_ok=True)
        file.write_text(text)
    assert file.exists(), f"no {file.name}: run with EXPECTTEST_ACCEPT=1 to write it"
    assert text == file.read_text(), "run with EXPECTTEST_ACCEPT=1 and look at the diff"


@pytest.mark.parametrize("name", CASES)
def test_regions(name: str) -> None:
    compare(fused(name).as_text(), EXPECTED / f"{name}.regions.txt")


@pytest.mark.parametrize("name", CASES)
def test_mlir(name: str) -> None:
    compare(mlir(name), EXPECTED / f"{name}.mlir")


def test_no_file_is_left_over() -> None:
    known = {f"{name}{end}" for name in CASES for end in (".regions.txt", ".mlir")}
    assert {file.name for file in EXPECTED.iterdir()} == known


def test_text_does_not_depend_on_hash_seeds() -> None:
    """Sets of nodes must not decide an order."""
    code = (
        "from tests.golden.test_regions_and_mlir import CASES, fused, mlir\n"
        "for name in ('broadcast', 'normalize', 'around_a_product', 'softmax'):\n"
        "    print(fused(name).as_text()); print(mlir(name))"
    )
    texts = set()
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        texts.add(run.stdout)
    assert len(texts) == 1
