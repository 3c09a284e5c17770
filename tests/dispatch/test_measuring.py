"""Measurements choose the winner, which is stored on disk and used. An implementation with wrong
results is disqualified."""

from __future__ import annotations

import io
import json
import logging
import math
import sys
import time
import timeit
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import ingot
from ingot import observe
from ingot.dispatch.declare import Dispatch
from ingot.dispatch.records import tuning_file

PAUSE = 1e-3


@torch.library.custom_op("ingot_tests::paused", mutates_args=())
def paused(x: Tensor, low: int, high: int) -> Tensor:
    """A copy that sleeps if the first size is between `low` and `high`."""
    if low <= x.shape[0] <= high:
        time.sleep(PAUSE)
    return x.clone()


@paused.register_fake
def _(x: Tensor, low: int, high: int) -> Tensor:
    return torch.empty_like(x)


def make(ranges: Any = "auto", **words: Any) -> Dispatch:
    """`small` is fast up to 100, `large` above; the reference is never fast."""

    @ingot.dispatch(on=("x", 0), ranges=ranges, **{"span": (2, 1024), **words})
    def copied(x: Tensor) -> Tensor:
        return paused(x, 0, 1 << 40)

    @copied.implementation()
    def small(x: Tensor) -> Tensor:
        return paused(x, 101, 1 << 40)

    @copied.implementation()
    def large(x: Tensor) -> Tensor:
        return paused(x, 0, 100)

    return copied


def served(op: Dispatch, size: int) -> str:
    (record,) = op.records.values()
    row = record.table.row([size])
    assert row is not None
    return row.serves


def test_declared_ranges() -> None:
    op = make([10, 100])
    record = op.tune(torch.ones(50, 3))
    assert [row.serves for row in record.table.rows] == ["small", "small", "large"]
    assert [row.serves for row in record.table.merged().rows] == ["small", "large"]
    assert all(row.confidence > 0.9 for row in record.table.rows)
    assert "times as fast as" in record.table.rows[0].why
    sizes = {sample.sizes[0] for sample in record.samples}
    assert {10, 11, 100, 101} <= sizes, "the ends are looked at"
    assert sizes & {16, 32, 64}, "and powers of two"


def test_ranges_are_found() -> None:
    op = make()
    op.tune(torch.ones(50, 3))
    assert served(op, 90) == "small"
    assert served(op, 110) == "large"
    assert served(op, 2) == "small"
    assert served(op, 1 << 20) == "large"


def test_sizes_that_there_was_no_time_for_go_to_the_reference() -> None:
    from ingot.dispatch.measure import Timed
    from ingot.dispatch.search import _coarse_first, _rows_of

    assert _coarse_first([1, 2, 4, 8, 16]) == [1, 16, 4, 2, 8]
    times = {size: Timed((size,), {"a": [1.0] * 5, "b": [2.0] * 5}) for size in (1, 4, 16)}
    (whole,) = _rows_of(times, to_the_end=True)
    (part,) = _rows_of(times, to_the_end=False)
    assert (whole.serves, whole.box[0].high) == ("a", None)
    assert (part.serves, part.box[0].high) == ("a", 16)


def test_a_little_noise_makes_no_range_of_its_own() -> None:
    from ingot.dispatch.measure import Timed
    from ingot.dispatch.search import _rows_of

    def timed(size: int, b: float) -> Timed:
        return Timed((size,), {"a": [1.0] * 5, "b": [b] * 5})

    slow = {size: timed(size, 2.0) for size in (2, 8, 32, 96, 100, 110, 128, 512)}
    noise = {size: timed(size, 0.95) for size in (97, 98, 99, 100)}
    clear = {size: timed(size, 0.5) for size in (96, 100, 110, 128)}
    assert [row.serves for row in _rows_of({**slow, **noise}, True)] == ["a"]
    assert [row.serves for row in _rows_of({**slow, **clear}, True)] == ["a", "b", "a"]


def test_costs_are_compared_round_by_round() -> None:
    """The machine was slow in most rounds of one session and in few rounds of the other."""
    from ingot.dispatch.measure import Timed

    moods = [1.0, 3.0, 3.0, 3.0, 1.0, 1.0, 1.0, 3.0, 1.0]
    first = Timed((8,), {"a": moods[:4], "b": [1.04 * mood for mood in moods[:4]]})
    later = Timed((8,), {"a": moods[4:], "b": [1.04 * mood for mood in moods[4:]]})
    costs = first.joined(later).costs()
    assert costs["a"] == 0
    assert costs["b"] == pytest.approx(math.log(1.04))
    disturbed = Timed((8,), {"a": [1.0, 1.0, 5.0], "b": [9.0, 1.04, 1.04]})
    assert disturbed.costs()["b"] == pytest.approx(math.log(1.04))


def test_a_range_of_one_size() -> None:
    """A symbol cannot have a range of one size, so that range is measured with a constant size."""
    op = make([1, 100])
    record = op.tune(torch.ones(50, 3))
    assert not record.disqualified
    assert [row.serves for row in record.table.rows] == ["small", "small", "large"]
    assert (1,) in {sample.sizes for sample in record.samples}


def test_what_there_was_no_time_for_is_measured_later() -> None:
    op = make([10, 100])
    op.tune(torch.ones(50, 3), budget=1e-6)
    assert not op.records[next(iter(op.records))].table.rows
    record = op.tune(torch.ones(50, 3))
    assert [row.serves for row in record.table.rows] == ["small", "small", "large"]


def test_a_terminal_shows_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    make([10, 100]).tune(torch.ones(50, 3))
    text = terminal.getvalue()
    assert "copied: 11..100" in text and "%" in text


def test_compiling_measures_once(caplog: pytest.LogCaptureFixture) -> None:
    op = make([100])
    heard: list[Any] = []
    compiled = torch.compile(lambda x: op(x) + 1, backend="ingot", dynamic=True)
    with observe.listening(heard.append):
        for n in (50, 100, 101, 500):
            torch.testing.assert_close(compiled(torch.ones(n, 3)), torch.full((n, 3), 2.0))
    x = torch.ones(500, 3)
    assert min(timeit.repeat(lambda: compiled(x), number=1)) < PAUSE, "the slow one does not serve"
    text = heard[0].fused.program.journal.as_text()
    assert "0..100: small (measured" in text and "101..: large (measured" in text
    assert len(heard) == 2
    path = tuning_file(op)
    assert path.exists()
    written = path.read_text()
    again = make([100])
    torch.compile(again, backend="ingot", dynamic=True)(torch.ones(60, 3))
    assert path.read_text() == written, "the second time nothing is measured"
    assert served(again, 50) == "small"
    assert not [record for record in caplog.records if record.name == "ingot.dispatch"]


def test_eager_uses_what_was_measured() -> None:
    op = make([100])
    x = torch.ones(50, 3)
    op.tune(x)
    assert min(timeit.repeat(lambda: op(x), number=1)) < PAUSE


def damaged(path: Path) -> None:
    path.write_text(path.read_text()[:50])


def of_another_version(path: Path) -> None:
    content = json.loads(path.read_text())
    content["made for"]["torch"] = "1.0"
    path.write_text(json.dumps(content))


def of_another_format(path: Path) -> None:
    path.write_text('{"format": 99}')


def no_object(path: Path) -> None:
    path.write_text("[1, 2]")


@pytest.mark.parametrize("harm", [damaged, of_another_version, of_another_format, no_object])
def test_a_harmed_file_is_measured_again(harm: Any, caplog: pytest.LogCaptureFixture) -> None:
    op = make([100])
    x = torch.ones(50, 3)
    op.tune(x)
    path = tuning_file(op)
    harm(path)
    again = make([100])
    with caplog.at_level(logging.WARNING, logger="ingot.dispatch"):
        again.tune(x)
    assert [r.message for r in caplog.records if "is ignored" in r.message]
    assert served(again, 50) == "small"
    assert json.loads(path.read_text())["made for"]["torch"] == torch.__version__


def test_new_source_is_measured_again(caplog: pytest.LogCaptureFixture) -> None:
    op = make([100])
    op.tune(torch.ones(50, 3))
    other = make([100])
    other.implementation(name="more")(lambda x: x.clone())
    with caplog.at_level(logging.WARNING, logger="ingot.dispatch"):
        other.tune(torch.ones(50, 3))
    assert any("made for source" in record.message for record in caplog.records)
    assert {"more"} <= set(other.records[next(iter(other.records))].samples[0].seconds)


def test_who_computes_something_else_is_disqualified() -> None:
    @ingot.dispatch(on=("x", 0), ranges=[64])
    def doubled(x: Tensor) -> Tensor:
        return paused(x, 0, 1 << 40) * 2

    @doubled.implementation()
    def off(x: Tensor) -> Tensor:
        return x * 2 + 0.5

    @doubled.implementation()
    def half_right(x: Tensor) -> Tensor:
        return x * 2 if x.shape[0] <= 64 else x * 3

    with pytest.warns(UserWarning) as caught:
        record = doubled.tune(torch.ones(8))
    text = "\n".join(str(warning.message) for warning in caught)
    assert "off is not used: at x.shape[0] = 2 it differs from the reference by 0.5" in text
    assert "half_right is not used: at x.shape[0] = 65 it differs" in text
    assert set(record.disqualified) == {"off", "half_right"}
    assert record.table.rows[-1].serves == "reference"


def test_who_raises_is_disqualified() -> None:
    @ingot.dispatch(on=("x", 0), ranges=[64])
    def negated(x: Tensor) -> Tensor:
        return -x

    @negated.implementation()
    def failing(x: Tensor) -> Tensor:
        raise RuntimeError("no luck today")

    @negated.implementation()
    def of_another_dtype(x: Tensor) -> Tensor:
        return -x.double()

    with pytest.warns(UserWarning, match="no luck today"):
        record = negated.tune(torch.ones(8))
    assert "float64" in record.disqualified["of_another_dtype"]
    assert {row.serves for row in record.table.rows} == {"reference"}
    compiled = torch.compile(negated, backend="ingot", dynamic=True, options={"strict": True})
    assert compiled(torch.ones(8)).eq(-1).all()


def test_validity_is_kept() -> None:
    """An implementation is not chosen for a range in which its `when` holds only partly."""

    @ingot.dispatch(on=("x", 0), ranges=[64])
    def kept(x: Tensor) -> Tensor:
        return paused(x, 0, 1 << 40)

    @kept.implementation(when="x.shape[0] <= 32")
    def quick(x: Tensor) -> Tensor:
        return x.clone()

    record = kept.tune(torch.ones(8))
    assert [row.serves for row in record.table.rows] == ["reference", "reference"]
    kept.pin({(0, 64): "quick"})
    compiled = torch.compile(kept, backend="ingot", dynamic=True)
    for n in (16, 32, 33, 65):
        start = time.perf_counter()
        assert compiled(torch.ones(n)).eq(1).all()
        quick_enough = time.perf_counter() - start < PAUSE
        if n == 33:
            assert not quick_enough


def test_the_budget_is_kept() -> None:
    op = make([10, 100, 1000], budget=0.2)
    start = time.perf_counter()
    op.tune(torch.ones(50, 3))
    assert time.perf_counter() - start < 5
    none = make([100], budget=0)
    compiled = torch.compile(none, backend="ingot", dynamic=True)
    assert compiled(torch.ones(7)).eq(1).all()
    assert not none.records


def test_parameters_and_a_generator() -> None:
    @ingot.dispatch(on=("index", 0), ranges=[64])
    def picked(x: Tensor, index: Tensor) -> Tensor:
        return paused(x[index], 0, 1 << 40)

    @picked.implementation(name="in_parts", PARTS=[1, 2])
    def in_parts(x: Tensor, index: Tensor, PARTS: int) -> Tensor:
        found = x[index]
        return found if PARTS == 1 else paused(found, 0, 1 << 40)

    asked = []

    @picked.inputs
    def arguments(n: int) -> tuple[Tensor, Tensor]:
        asked.append(n)
        return torch.randn(5, 4), torch.randint(0, 5, (n,))

    record = picked.tune(torch.randn(5, 4), torch.zeros(9, dtype=torch.int64))
    assert {row.serves for row in record.table.rows} == {"in_parts[PARTS=1]"}
    assert {64, 65} <= set(asked)


def test_settings_are_told_apart() -> None:
    op = make([100])
    op.tune(torch.ones(50, 3))
    op.tune(torch.ones(50, 3, dtype=torch.float64))
    op.tune(torch.ones(3, 50).t())
    assert set(op.records) == {
        "x: float32[*, 3]",
        "x: float64[*, 3]",
        "x: float32[*, 3] by [1, 0]",
    }


def test_mlir_text_is_an_implementation() -> None:
    @ingot.dispatch(on=("x", 0), ranges=[64])
    def shifted(x: Tensor) -> Tensor:
        return paused(x, 0, 1 << 40) + 1

    shifted.mlir(
        """
        func.func @main(%x: memref<?xf32>, %y: memref<?xf32>) {
          %zero = arith.constant 0 : index
          %one = arith.constant 1 : index
          %step = arith.constant 1.0 : f32
          %n = memref.dim %x, %zero : memref<?xf32>
          scf.for %i = %zero to %n step %one {
            %v = memref.load %x[%i] : memref<?xf32>
            %w = arith.addf %v, %step : f32
            memref.store %w, %y[%i] : memref<?xf32>
          }
          return
        }
        """,
        name="looped",
    )
    x = torch.randn(40)
    record = shifted.tune(x)
    assert {row.serves for row in record.table.rows} == {"looped"}
    torch.testing.assert_close(shifted(x), x + 1)
    compiled = torch.compile(shifted, backend="ingot", dynamic=True, options={"strict": True})
    torch.testing.assert_close(compiled(x), x + 1)
    torch.testing.assert_close(shifted(torch.randn(80)[::2]).shape, x.shape)


def test_report_and_plot(tmp_path: Path) -> None:
    op = make([100])
    with pytest.raises(ingot.DispatchError, match="nothing is measured"):
        op.plot()
    op.tune(torch.ones(50, 3))
    report = op.report()
    assert "0..100: small, measured" in report and "confidence" in report
    path = tmp_path / "copied.svg"
    text = op.plot(path)
    picture = path.read_text()
    assert "x.shape[0]" in text and "chosen" in text
    assert picture.startswith("<svg") and picture.count("<polyline") == 3
    assert "101..: large" in picture


def test_the_compiler_chooses_through_the_same_table(tuning_folder: Path) -> None:
    """Matmuls of two activations: a library call or a fused kernel, by the number of rows."""

    def attended(q: Tensor, k: Tensor) -> Tensor:
        return (q * 2) @ (k + 1) + 1

    heard: list[Any] = []
    compiled = torch.compile(attended, backend="ingot", options={"tune": math.inf, "strict": True})
    k = torch.randn(8, 16)
    with observe.listening(heard.append):
        for rows in (5, 2, 400):
            q = torch.randn(rows, 8)
            torch._dynamo.mark_dynamic(q, 0)
            torch.testing.assert_close(compiled(q, k), attended(q, k), rtol=1e-4, atol=1e-4)
    text = heard[0].fused.program.journal.as_text()
    assert "matmuls that were measured: 1" in text
    assert "mm: a.shape[0] is 2.." in text
    assert list(tuning_folder.glob("mm-*.json"))
