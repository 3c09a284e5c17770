"""The chart and the README's table are what bench/chart.py makes of bench/RESULTS.md."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest

from .documents import README, ROOT, text_of


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    spec = importlib.util.spec_from_file_location("chart", ROOT / "bench" / "chart.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "chart", module)
    spec.loader.exec_module(module)
    return module


def test_readme_has_the_summary(script: ModuleType) -> None:
    rows = script.networks(script.RESULTS.read_text())
    assert script.summary(rows) in text_of(README)


def test_chart_is_drawn_from_the_results(script: ModuleType) -> None:
    rows = script.networks(script.RESULTS.read_text())
    assert script.CHART.read_text() == script.chart(rows), "run python bench/chart.py"


def test_a_missing_number_is_left_out(script: ModuleType) -> None:
    text = "| network, ms | eager | openvino |\n|--|--:|--:|\n| a | 2.0 | – |\n\n"
    assert script.networks(text) == {"a": {"eager": 2.0}}
