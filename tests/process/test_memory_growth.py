"""A dropped program leaks nothing: resident memory stays flat. PyTorch's own capture leaks (source
texts of graphs, caches of fake tensors); its growth without ingot is measured and subtracted."""

from __future__ import annotations

import pytest

from tests.process.run import run_python

COUNT, FEW = 1000, 200
MOST = 50.0
"""Megabytes per COUNT compilations."""


def grown(way: str, count: int) -> float:
    done = run_python("-m", "tests.process.growth", way, str(count), timeout=3000)
    return float(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.timeout(6000)
@pytest.mark.parametrize(
    ("way", "beside"),
    [
        ("ingot_compile", "torch_export"),
        ("torch_compile", "aot_eager"),
        ("ingot_compile_dynamic", "torch_export_dynamic"),
        ("torch_compile_dynamic", "aot_eager_dynamic"),
        ("torch_compile_training", "aot_eager_training"),
    ],
)
def test_memory_is_flat(way: str, beside: str) -> None:
    own = max(0.0, grown(beside, FEW)) * COUNT / FEW
    total = grown(way, COUNT)
    print(f"{way}: {total:.1f} MB for {COUNT}; {beside} alone: {own:.1f} MB")
    assert total - own < MOST, f"{total:.1f} MB, of which PyTorch's own are {own:.1f} MB"
