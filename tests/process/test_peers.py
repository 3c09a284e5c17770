"""Other numeric libraries give the same results as alone, whether loaded before or after ingot
compiles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.process.peers import PEERS
from tests.process.run import run_python

OTHERS = [name for name in PEERS if name != "ingot"]


def results(folder: Path, *names: str) -> dict[str, np.ndarray]:
    """The results of the named libraries, run in order in one process."""
    file = folder / "results.npz"
    run_python("-m", "tests.process.peers", str(file), *names)
    return dict(np.load(file))


def check(folder: Path, names: list[str], *orders: list[str]) -> None:
    alone = {name: results(folder, name) for name in names}
    for order in orders:
        for key, found in results(folder, *order).items():
            _, name, k = key.split(".")
            if name != "ingot":
                np.testing.assert_allclose(
                    found, alone[name][f"0.{name}.{k}"], rtol=1e-5, atol=1e-5, err_msg=key
                )


def test_ctranslate2_returns_the_same_tokens(tmp_path: Path) -> None:
    """Its MKL, oneDNN and OpenMP export the same symbols as libtorch_cpu."""
    check(tmp_path, ["ctranslate2"], ["ingot", "ctranslate2"])


@pytest.mark.slow
def test_all_libraries_return_the_same(tmp_path: Path) -> None:
    around = [*OTHERS, "ingot", *OTHERS, "ingot"]
    check(tmp_path, OTHERS, ["ingot", *OTHERS], ["ingot", *reversed(OTHERS)], around)
