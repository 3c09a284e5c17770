"""The report: its counts, rows and text; explaining leaves no state behind."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from torch import Tensor, nn

import ingot
from ingot.cli import main
from ingot.explain.origin import ranges_of
from ingot.explain.report import CallRow, CompileTimes, KernelRow, Report


class Block(nn.Module):
    def __init__(self, width: int = 32):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def explained(model: object, *args: object) -> Report:
    with torch.no_grad():
        return ingot.explain(model, args)


def test_counts() -> None:
    report = explained(nn.Sequential(*(Block() for _ in range(3))), torch.randn(4, 32))
    assert report.graphs == 1
    assert report.native_calls == 6
    assert report.library_calls == 0
    assert any("packed" in note for note in report.notes)
    assert report.fallbacks == 0
    assert report.eager_steps == 0
    assert report.graph_breaks == ()
    assert 0 < report.kernels < report.regions


def test_matmuls_that_run_together() -> None:
    class Gated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.up, self.down = nn.Linear(32, 64), nn.Linear(32, 64), nn.Linear(64, 32)

        def forward(self, x: Tensor) -> Tensor:
            return self.down(torch.sigmoid(self.gate(x)) * self.up(x))

    report = explained(Gated(), torch.randn(4, 32))
    told = "Matmuls that run as one step with others of the same input: 2."
    assert any(note.startswith(told) for note in report.notes)
    assert report.native_calls == 3


def test_rows_name_modules_places_and_costs() -> None:
    report = explained(nn.Sequential(*(Block() for _ in range(3))), torch.randn(4, 32))
    gelu = next(row for row in report.kernel_rows if row.ops == ("gelu",))
    assert gelu.regions == 3
    assert gelu.domain == "4×64"
    assert gelu.modules == ("0–2",)
    assert [Path(place.file).name for place in gelu.places] == ["test_explain.py"]
    assert "gelu" in gelu.places[0].code
    assert gelu.bytes == 3 * 2 * 4 * 64 * 4
    assert gelu.ms > 0 and gelu.gb_per_s is not None and gelu.gb_per_s > 0
    products = [row for row in report.call_rows if row.kind == "native"]
    assert {row.op for row in products} == {"addmm"}
    assert {row.modules for row in products} == {("0–2.up", "0–2.down")}


def test_times_add_up() -> None:
    report = explained(Block(), torch.randn(4, 32))
    times = report.compile_ms
    assert set(times.steps) == {"passes", "verify", "fuse", "epilogues", "codegen", "plan", "bind"}
    assert times.dynamo > 0 and times.autograd > 0 and times.ingot > 0
    assert times.total == pytest.approx(times.dynamo + times.autograd + times.ingot)
    steps = sum(row.ms for row in (*report.kernel_rows, *report.call_rows))
    assert 0 < steps <= report.run_ms


def test_lookup_counts_the_rows_it_reads() -> None:
    table = nn.Embedding(10_000, 16)
    report = explained(lambda ids: table(ids) * 2, torch.arange(8))
    (row,) = report.kernel_rows
    assert row.bytes == 8 * 8 + 2 * 8 * 16 * 4


def test_dynamic_sizes_count_with_the_values_of_the_run() -> None:
    x = torch.randn(6, 10)
    torch._dynamo.mark_dynamic(x, 0)
    (row,) = explained(lambda x: x.exp() + 1, x).kernel_rows
    assert row.bytes == 2 * 6 * 10 * 4


def test_what_is_left_to_pytorch_has_a_reason() -> None:
    report = explained(lambda x: torch.special.airy_ai(x) + 1, torch.randn(8))
    (row,) = [row for row in report.call_rows if row.kind == "fallback"]
    assert report.fallbacks == 1
    assert "airy_ai" in row.op
    assert row.reason
    text = report.as_text()
    assert "Left to PyTorch" in text
    assert f"because: {row.reason}" in text


def test_regions_that_fail_to_compile_are_left_to_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ingot.CompileError("no such luck")

    monkeypatch.setattr("ingot.codegen.loops.kernels.draft_kernel", fail)
    monkeypatch.setattr("ingot.codegen.loops.kernels._known", {}, raising=False)
    with pytest.warns(UserWarning, match="no such luck"):
        report = explained(lambda x: (x + 1).exp(), torch.randn(8))
    assert report.kernels == report.regions == 0
    assert report.fallbacks == 2
    assert "because: CompileError" in report.as_text()


def test_functions_that_dynamo_left_to_python_are_told_with_the_way_out() -> None:
    lstm = torch.nn.LSTM(8, 8)
    with torch.no_grad():
        report = ingot.explain(lambda x: lstm(x)[0] * 2, (torch.randn(3, 2, 8),))
    assert report.graphs == 0 and len(report.uncaptured) == 1
    text = " ".join(str(report).split())
    assert "1 function left to Python" in text
    assert "Hint: Set torch._dynamo.config.allow_rnn=True" in text
    assert "there is no tensor operation" not in text


def test_graph_breaks_are_counted_and_told() -> None:
    def broken(x: Tensor) -> Tensor:
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    report = explained(broken, torch.randn(4))
    assert report.graphs == 2
    assert len(report.graph_breaks) == 1
    assert "Graph breaks" in report.as_text()


def test_backward_of_a_training_step_is_part_of_the_report() -> None:
    model = Block()

    def step(x: Tensor) -> None:
        model(x).square().mean().backward()

    x = torch.randn(4, 32)
    forward = ingot.explain(model, (x,))
    whole = ingot.explain(step, (x,))
    assert forward.graphs == 1
    assert "backward was not run" in str(forward)
    assert whole.graphs == 2
    assert "backward was not run" not in str(whole)
    assert any("layer_norm_backward" in row.ops for row in whole.kernel_rows)


def test_control_flow_is_native_or_says_why_not() -> None:
    def either(x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))

    def sorted_or_not(x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda x: x.sort().values, lambda x: x.cos(), (x,))

    native, branching = (explained(f, torch.randn(4)) for f in (either, sorted_or_not))
    assert native.eager_steps == 0
    assert "Branches and loops that run natively: 1, of 2 regions." in native.notes
    assert branching.eager_steps == 1
    assert "runs in Python: a body has an eager step, or a new size" in str(branching)


def test_recompiles_are_explained(caplog: pytest.LogCaptureFixture) -> None:
    @torch.compile(backend="ingot", dynamic=False)
    def function(x: Tensor, n: int) -> Tensor:
        return x * n

    with caplog.at_level("INFO", logger="ingot.recompiles"):
        function(torch.randn(3), 2)
        assert not caplog.messages
        function(torch.randn(4), 2)
        function(torch.randn(4), 5)
        function(torch.randn(4, dtype=torch.float64), 5)
    size, value, dtype = caplog.messages
    assert "the size of x along dim 0" in size and "it was 3, now it is 4" in size
    assert "mark_dynamic(x, 0)" in size
    assert "the number n is part of the program: it was 2, now it is 5" in value
    assert "the dtype of x" in dtype and "it was Float, now it is Double" in dtype


def test_recompiles_are_in_the_report() -> None:
    class Counting(nn.Module):
        calls = 2

        def forward(self, x: Tensor) -> Tensor:
            self.calls += 1
            return x * self.calls

    report = ingot.explain(Counting(), (torch.randn(2),))
    assert any("compiled again because" in note and "calls" in note for note in report.notes)


def test_what_did_not_run_says_so() -> None:
    """With data-dependent sizes, AOTAutograd compiles the backward ahead of time."""
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        report = ingot.explain(lambda x: x[x > 0].exp() * 2, (torch.randn(9, requires_grad=True),))
    assert report.graphs == 2
    assert "not run" in str(report)


def test_busy_machine_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (99.0, 0.0, 0.0))
    busy = explained(lambda x: x + 1, torch.randn(4))
    assert any("a load of 99.0" in note for note in busy.notes)
    monkeypatch.setattr("os.getloadavg", lambda: (0.5, 0.0, 0.0))
    assert explained(lambda x: x + 1, torch.randn(4)).notes == ()


def test_nothing_is_left_changed() -> None:
    norm = nn.BatchNorm1d(4)

    def model(x: Tensor) -> Tensor:
        x.add_(1)
        return norm(x) + torch.rand_like(x)

    x, state = torch.zeros(3, 4), torch.random.get_rng_state()
    explained(model, x)
    assert torch.equal(x, torch.zeros(3, 4))
    assert torch.equal(torch.random.get_rng_state(), state)
    explained(norm, x)
    before = norm.running_mean.clone()
    explained(norm, torch.ones(3, 4))
    assert torch.equal(norm.running_mean, before)


def test_users_compiled_function_stays_compiled() -> None:
    from torch._dynamo.utils import counters

    model, x = Block(), torch.randn(4, 32)
    fast = torch.compile(model, backend="ingot")
    with torch.no_grad():
        fast(x)
        for _ in range(10):  # more often than Dynamo's recompile limit
            assert explained(model, x).graphs == 1
            assert explained(fast, x).graphs == 1
        frames = counters["stats"]["unique_graphs"]
        fast(x)
    assert counters["stats"]["unique_graphs"] == frames


def test_explain_hears_only_its_own() -> None:
    x = torch.randn(4)
    assert explained(lambda x: x + 1, x).graphs == 1
    assert explained(lambda x: "no tensors", x).graphs == 0


def test_options_reach_the_compiler() -> None:
    x = torch.randn(8)
    with torch.no_grad():
        report = ingot.explain(lambda x: (x + 1).exp(), (x,), options={"fuse": False})
        assert (report.kernels, report.fallbacks) == (0, 2)
        ingot.explain(lambda x: x + 1, (x,), options=ingot.Options(strict=True))
        with pytest.raises(ingot.OptionError, match="did you mean 'strict'"):
            ingot.explain(lambda x: x + 1, (x,), options={"strickt": True})


def test_keyword_arguments() -> None:
    with torch.no_grad():
        report = ingot.explain(lambda x, *, scale: x * scale, (torch.randn(8),), {"scale": 3.0})
    assert report.kernels == 1


def test_report_is_frozen() -> None:
    report = explained(lambda x: x + 1, torch.randn(4))
    with pytest.raises(FrozenInstanceError):
        report.kernels = 3  # type: ignore[misc]


def test_text_keeps_to_its_width() -> None:
    report = explained(nn.Sequential(*(Block() for _ in range(2))), torch.randn(4, 32))
    for width in (60, 100):
        lines = report.as_text(width).splitlines()
        assert max(map(len, lines)) <= width
    assert str(report) == report.as_text()


def test_text() -> None:
    place = ingot.Place("/home/me/net.py", 7, "y = gelu(x)")
    report = Report(
        name="Net",
        graphs=1,
        kernels=1,
        regions=2,
        native_calls=0,
        library_calls=2,
        fallbacks=1,
        eager_steps=0,
        graph_breaks=(),
        uncaptured=(),
        kernel_rows=(KernelRow(("gelu",), 3, "4×64", 2, ("layer.0–1",), (place,), 0.5, 2_000_000),),
        call_rows=(
            CallRow("addmm", "library", "", 2, (), place, 1.0),
            CallRow("nextafter", "fallback", "no rule for this op", 1, (), None, 0.25),
        ),
        compile_ms=CompileTimes(200.0, 100.0, {"passes": 10.0, "codegen": 40.0}),
        run_ms=2.0,
    )
    expected = """\
Net
  1 graph · 2 regions in 1 kernel · 2 library calls · 1 op left to PyTorch

Compile: 350 ms
  Dynamo 200 · AOTAutograd 100 · ingot 50.0 (passes 10.0, codegen 40.0)

A run: 2.00 ms
  kernels 0.50 (25 %) · library calls 1.00 (50 %) · left to PyTorch 0.25 (12 %)
  outside of the steps 0.25 (12 %)

Kernels
      ms    %     bytes   GB/s
   0.500   25      2 MB    4.0  gelu · 2 regions, each 3 ops over 4×64
              in layer.0–1
              me/net.py:7  y = gelu(x)

Library calls
      ms    %  calls
   1.000   50      2  addmm
              me/net.py:7  y = gelu(x)

Left to PyTorch
      ms    %  calls
   0.250   12      1  nextafter
              because: no rule for this op"""
    assert report.as_text() == expected


def test_ranges() -> None:
    assert ranges_of(["a.0.b", "a.1.b", "a.2.b"]) == ("a.0–2.b",)
    assert ranges_of(["a.0.b", "a.2.b", "c"]) == ("a.0,2.b", "c")
    assert ranges_of([]) == ()


def test_import_is_light() -> None:
    code = "import sys, ingot; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_public_names() -> None:
    for name in ingot.__all__:
        assert getattr(ingot, name) is not None
        assert name in dir(ingot)
    with pytest.raises(AttributeError, match="explian"):
        _ = ingot.explian


# -- the command ---------------------------------------------------------------------------------


@pytest.fixture
def user_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "users_net.py").write_text(
        "import torch\n"
        "def scaled(x, y):\n    return torch.softmax(x * y, -1)\n"
        "def build():\n    return torch.nn.Linear(4, 4), (torch.randn(2, 4),)\n"
        "def wrong():\n    return 3\n"
        "number = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "users_net", raising=False)
    return tmp_path


@pytest.mark.usefixtures("user_module")
def test_command_with_inputs() -> None:
    words = ["explain", "users_net:scaled", "--input", "4x16", "--input", "16:float64"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert "softmax" in result.output
    assert "users_net.py:3" in result.output


@pytest.mark.usefixtures("user_module")
def test_command_with_a_builder() -> None:
    result = CliRunner().invoke(main, ["explain", "users_net:build"])
    assert result.exit_code == 0, result.output
    assert "addmm" in result.output


@pytest.mark.usefixtures("user_module")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["users_net"], "module:callable"),
        (["no_such_module:f"], "cannot import 'no_such_module'"),
        (["users_net:scalde"], "did you mean 'scaled'?"),
        (["users_net:number"], "not a callable"),
        (["users_net:wrong"], "returned a int, not (model, args)"),
        (["users_net:scaled"], "give them with --input"),
        (["users_net:scaled", "--input", "4xx"], "8x128:int64"),
        (["users_net:scaled", "--input", "4:flaot"], "8x128:int64"),
    ],
)
def test_command_tells_what_is_wrong(words: list[str], told: str) -> None:
    result = CliRunner().invoke(main, ["explain", *words])
    assert result.exit_code == 2
    assert told in " ".join(result.output.replace("│", "").split())
