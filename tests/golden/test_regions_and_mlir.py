"""FileCheck tests of regions and of the MLIR generated from them (functions.py). A few complete
texts in `expected/` pin the printers: `EXPECTTEST_ACCEPT=1 pytest tests/golden` updates them; check
the diff before committing.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from ingot.codegen.loops.kernels import draft_kernel
from ingot.fuse.fused import Fused
from ingot.fuse.group import fuse
from ingot.machine import this_machine
from ingot.options import Options
from tests.unit.tracing import trace

from .check import file_check
from .functions import CASES

EXPECTED = Path(__file__).parent / "expected"
OPTIONS = Options(vector_bits=256)
WHOLE_REGIONS = ("normalize", "around_a_product")
WHOLE_MLIR = ("pointwise", "row_sum_dynamic")


@contextmanager
def last_cache(size: int) -> Iterator[None]:
    machine = replace(this_machine(), l3_bytes=size) if size else this_machine()
    with patch("ingot.codegen.loops.kernels.this_machine", lambda: machine):
        yield


def fused(name: str) -> Fused:
    case = CASES[name]
    return fuse(trace(case.function, *case.args, dynamic=case.dynamic).core(), OPTIONS)


def mlir(name: str) -> str:
    with last_cache(CASES[name].last_cache):
        drafts = [draft_kernel(region, OPTIONS) for region in fused(name).regions()]
    return "\n".join(draft.text for draft in drafts)


def directives(name: str) -> str:
    text = inspect.getdoc(CASES[name].function)
    assert text is not None, f"{name} states nothing"
    return text


@pytest.mark.parametrize("name", CASES)
def test_regions(name: str) -> None:
    file_check(fused(name).as_text(), directives(name), "FUSED")


@pytest.mark.parametrize("name", CASES)
def test_mlir(name: str) -> None:
    file_check(mlir(name), directives(name), "CODE")


def test_a_directive_that_does_not_hold_fails() -> None:
    with pytest.raises(AssertionError, match="region 1"):
        file_check("region 0\n", "FUSED: region 1", "FUSED")
    with pytest.raises(AssertionError, match="No check strings"):
        file_check("region 0\n", "nothing", "FUSED")


def compare(text: str, file: Path) -> None:
    text = text.rstrip() + "\n"
    if os.environ.get("EXPECTTEST_ACCEPT"):
        EXPECTED.mkdir(exist_ok=True)
        file.write_text(text)
    assert file.exists(), f"no {file.name}: run with EXPECTTEST_ACCEPT=1 to write it"
    assert text == file.read_text(), "run with EXPECTTEST_ACCEPT=1 and look at the diff"


@pytest.mark.parametrize("name", WHOLE_REGIONS)
def test_whole_text_of_regions(name: str) -> None:
    compare(fused(name).as_text(), EXPECTED / f"{name}.regions.txt")


@pytest.mark.parametrize("name", WHOLE_MLIR)
def test_whole_text_of_mlir(name: str) -> None:
    compare(mlir(name), EXPECTED / f"{name}.mlir")


def test_no_file_is_left_over() -> None:
    known = {f"{name}.regions.txt" for name in WHOLE_REGIONS} | {f"{n}.mlir" for n in WHOLE_MLIR}
    assert {file.name for file in EXPECTED.iterdir()} == known


def test_text_does_not_depend_on_hash_seeds() -> None:
    """The order of the text must not depend on the iteration order of sets."""
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
