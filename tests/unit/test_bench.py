"""The arithmetic of the benchmarks, and their handling of a contender that crashes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(autouse=True)
def bench_on_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(BENCH)
    yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(BENCH)):
            del sys.modules[name]


def test_verdicts() -> None:
    from model_report import Row, as_json, from_json, verdicts

    row = Row(
        network="bert-base",
        ms={"eager": 30.0, "inductor": 20.0, "ingot": 10.0},
        spread=0.1,
        missing={"openvino": "ImportError: openvino"},
        cold_s={"inductor": 10.0, "ingot": 1.0},
        gflop=9.0,
        gemm_gflops=1000.0,
        command="python bench/models.py",
    )
    assert (row.ratio(), row.gemm_share(), row.cold_ratio()) == (2.0, pytest.approx(0.9), 0.1)
    assert replace(row, ms={**row.ms, "ingot ahead": 5.0}).ratio("ingot ahead") == 4.0
    assert all("NOT met" not in line for line in verdicts([row]))
    slow = replace(row, ms={"eager": 8.0, "ingot": 10.0}, cold_s={"ingot": 1.0})
    bars = [line for line in verdicts([slow, replace(slow, gemm_gflops=None)]) if "bar" in line]
    assert all("NOT met" in line for line in bars if "no bar" not in line)
    assert from_json(as_json([row, slow])) == [row, slow]


def test_a_crash_is_a_reason(tmp_path: Path) -> None:
    from ingot.bench.workers import Failed, Worker, network_job

    for build, reason in ((os.abort, "SIGABRT"), (partial(int, "x"), "ValueError")):
        worker = Worker("crashing", network_job("eager", build), tmp_path)
        worker.close()
        assert isinstance(worker.state, Failed)
        assert worker.state.reason.startswith(reason)


def test_wrong_results_are_noticed() -> None:
    from ingot.bench.agreement import furthest

    want = [torch.ones(3), torch.tensor([4.0, -8.0])]
    assert furthest(want, want) == 0.0
    assert furthest([torch.ones(3).numpy(), torch.tensor([4.0, -7.0])], want) == 0.125
    assert not furthest([torch.tensor([1.0, float("nan"), 1.0]), want[1]], want) <= 1.0
    assert furthest([torch.ones(4), want[1]], want) == float("inf")
    assert furthest([want[0]], want) == float("inf"), "one is missing"
    nan = [torch.tensor([float("nan"), float("inf"), 2.0])]
    assert furthest(nan, nan) == 0.0
    assert furthest([torch.tensor([0.0, float("inf"), 2.0])], nan) == float("inf")
    assert furthest([torch.tensor([float("nan"), -float("inf"), 2.0])], nan) == float("inf")
    counts = [torch.tensor([3, 4]), torch.tensor([True])]
    assert furthest(counts, counts) == 0.0
    assert furthest([torch.tensor([3, 5]), counts[1]], counts) == float("inf")
    assert furthest([torch.empty(0), None], [None, torch.empty(0)]) == 0.0


def test_a_commit_is_slower_where_most_runs_say_so() -> None:
    from comparison import Pair, Side, verdict_of

    def run(*ratios: float | None) -> list[Pair]:
        sides = [Side(None if ratio is None else 10.0 / ratio) for ratio in ratios]
        return [Pair("launch", f"row {k}", Side(10.0), side) for k, side in enumerate(sides)]

    assert verdict_of([run(1.0, 0.94)]).slow == []
    once = verdict_of([run(1.2, 0.9)])
    assert (once.slow, once.holds) == (["launch: row 1"], False)
    assert once.means["launch"] == pytest.approx((1.2 * 0.9) ** 0.5)
    assert verdict_of([run(1.2, 0.9), run(0.92, 1.1), run(1.0, 1.1)]).holds
    assert verdict_of([run(1.2, 0.9), run(1.2, 0.8), run(1.2, 1.1)]).slow == ["launch: row 1"]
    assert not verdict_of([run(0.97, 0.98)]).holds
    assert verdict_of([run(1.0, None)]).broken == ["launch: row 1"]
    unable = Pair("launch", "row", Side(None), Side(None))
    assert (unable.ratio, unable.is_slow, unable.is_broken) == (None, False, False)


def test_a_second_process_is_compared_round_by_round() -> None:
    from cache import Pair, row
    from compile_time import Measurement

    pairs = [
        Pair(Measurement(4.0, first, 1), Measurement(2.0, second, 1))
        for first, second in ((1.0, 0.05), (2.0, 0.3), (4.0, 0.1))
    ]
    assert row("mlp", pairs) == ["mlp", "2.000", "0.100", "0.050 (met, bar 0.1)", "0.500"]
    slow = [Pair(pair.first, pair.first) for pair in pairs]
    assert "NOT met" in row("mlp", slow)[3]


def test_times_have_units() -> None:
    from comparison import time_text

    assert [time_text(ms) for ms in (None, 0.0031, 2.5, 4321.0)] == [
        "–",
        "3.10 µs",
        "2.50 ms",
        "4.32 s",
    ]


def test_a_tree_goes_before_what_is_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from ingot.bench.tree import INSTALLED, Tree
    from trees import ROOT, needs_of

    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    assert INSTALLED.settings() == {}
    assert Tree(tmp_path).settings() == {"PYTHONPATH": f"{tmp_path}{os.pathsep}elsewhere"}
    with pytest.raises(ImportError, match="ingot was imported from"):
        import ingot

        assert ingot.__file__
        Tree(tmp_path).verify()
    dependencies, entry_points = needs_of(ROOT)
    assert "torch_dynamo_backends" in entry_points
    assert any(name.startswith("torch==") for name in dependencies)
