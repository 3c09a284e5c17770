"""`ingot bench` and `ingot zoo`: contenders, plots, tables, reasons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ingot.bench import contenders
from ingot.bench.timing import Timing
from ingot.bench.workers import Measured, Ready
from ingot.cli.bench import SideBySide

from .call import failed, flat, ingot, refused

MEASURED = Measured(
    {"eager": Timing((2.0, 2.0, 2.0)), "ingot": Timing((1.0, 1.0, 4.0))},
    {"eager": Ready(), "ingot": Ready(prepare_s=1.5, memory=1 << 20, error=2e-7)},
    {},
)


def test_the_table() -> None:
    side = SideBySide("a model", "a machine", MEASURED, {"openvino": "not installed"})
    lines = side.as_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[3:7]]
    assert cells[2] == ["eager", "2 ms", "0%", "1.00×", "–", "–", "0"]
    assert cells[3] == ["ingot", "1 ms", "300%", "2.00×", "1.5 s", "1 MB", "2e-07"]
    assert lines[-1] == "- openvino: not installed"
    data = side.as_data()
    assert data["contenders"][1]["samples_ms"] == [1.0, 1.0, 4.0]
    assert data["missing"] == [{"contender": "openvino", "why": "not installed"}]


def test_words_are_checked_before_anything_runs(folder: Path) -> None:
    told = refused("bench", "users_net:pair", "--only", "ingt")
    assert "did you mean 'ingot'" in told
    assert "a file.svg or a file.png" in failed("bench", "users_net:pair", "--plot", "a.gif")
    assert "no folder" in refused("bench", "users_net:pair", "--plot", "no/a.svg")
    assert "2 is not in the range" in flat(
        ingot("bench", "users_net:pair", "--rounds", "2", code=2)
    )


def test_contenders_that_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contenders, "find_spec", lambda name: None)
    monkeypatch.setattr(contenders.shutil, "which", lambda name: None)
    assert contenders.why_not("inductor") == "there is no C++ compiler"
    assert "pip install 'ingot[bench]'" in contenders.why_not("onnxruntime")
    assert contenders.why_not("eager") == contenders.why_not("ingot") == ""


@pytest.mark.slow
def test_bench(folder: Path) -> None:
    pytest.importorskip("PIL")
    words = ("--rounds", "3", "--plot", "b.svg", "--plot", "b.png", "--json")
    result: dict[str, Any] = json.loads(ingot("bench", "users_net.py:make_model", *words).output)
    ran = {row["contender"]: row for row in result["contenders"]}
    missing = {row["contender"] for row in result["missing"]}
    assert {"eager", "ingot", "ingot ahead"} <= ran.keys()
    assert ran.keys() | missing == set(contenders.CONTENDERS)
    assert all(row["error"] < 1e-4 and len(row["samples_ms"]) == 3 for row in ran.values())
    assert ran["ingot"]["compile_s"] > 0 and ran["eager"]["compile_s"] == 0
    assert "</svg>" in Path("b.svg").read_text() and Path("b.png").stat().st_size > 10_000


@pytest.mark.slow
def test_bench_of_a_saved_file(folder: Path) -> None:
    ingot("compile", "users_net.py:make_model", "-o", "m.ingot")
    text = ingot("bench", "m.ingot", "--rounds", "3").output
    assert "| eager" in text and "| ingot file" in text


WRONG = """
import torch

class Liar(torch.nn.Module):
    calls = 0

    def forward(self, x):
        Liar.calls += 1
        return x + Liar.calls

model = Liar()
"""


@pytest.mark.slow
def test_a_model_that_changes_is_wrong(folder: Path) -> None:
    """Every call returns something else, so that no contender agrees with the first."""
    Path("liar.py").write_text(WRONG)
    told = failed("bench", "liar.py:model", "-i", "3", "--only", "ingot ahead")
    assert "ingot ahead: ArithmeticError: wrong: differs from eager" in told


@pytest.mark.slow
def test_zoo() -> None:
    pytest.importorskip("transformers")
    assert "hf:bert " in ingot("zoo", "list", "bert").output
    assert json.loads(ingot("zoo", "list", "--json").output)["bert"] == "BertModel"
    assert "no architecture has 'xyz'" in refused("zoo", "list", "xyz")
    words = ("bert", "no-such", "--layers", "1", "--set", "hidden_size?=64", "--rounds", "3")
    small = ("--set", "num_attention_heads?=2", "--set", "intermediate_size?=64")
    rows = json.loads(failed("zoo", "compare", *words, *small, "--json"))
    assert rows[0]["why"] == "" and rows[0]["ingot_ms"] > 0 and rows[0]["error"] < 1e-4
    assert rows[1]["ingot_ms"] is None and "no-such" in rows[1]["why"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["BertForMaskedLM", "t5", "clip", "wav2vec2", "swin", "whisper"])
def test_architectures_have_inputs(name: str) -> None:
    pytest.importorskip("transformers")
    settings = ("num_hidden_layers?=1", "num_layers?=1")
    from ingot.cli.models import Request, build

    workload = build(Request(f"hf:{name}", settings=settings))
    results = workload.call_eager()
    assert type(results) is dict and results
    for value in results.values():
        assert not hasattr(value, "to_tuple"), "nested results are dicts as well"


@pytest.mark.slow
def test_architectures_that_are_none(folder: Path) -> None:
    pytest.importorskip("transformers")
    assert "did you mean 'bert'?" in refused("run", "hf:brt")
    told = refused("run", "hf:bert", "--set", "num_hidden_layer=1")
    assert "did you mean 'num_hidden_layers'?" in told
    assert "not of the form KEY=VALUE" in refused("run", "hf:bert", "--set", "x")
    assert "no config.json there" in refused("run", "hf:no/such")
    Path("local").mkdir()
    Path("local/config.json").write_text('{"model_type": "bert"}')
    Path("local/pytorch_model.bin").touch()
    assert "its weights are pickles" in refused("run", "hf:local")
