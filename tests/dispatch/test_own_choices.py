"""The compiler's own variants use the same tables: matmuls, attention, sums, threads."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import ingot
from ingot import OptionError
from ingot.dispatch.builtin_variants import BUILT_IN, CHOICES, always, tensors, up_to
from ingot.dispatch.ranges import Range, RangeTable, Row
from ingot.dispatch.records import remember, setting_of
from ingot.dispatch.threads import NEVER, kernel_work, matmul_work
from ingot.dispatch.tuning_record import TuningRecord
from ingot.dispatch.variants import MOST_SECONDS, Account, Variants, covered
from ingot.options import Options, make_options
from ingot.plan.ir import Branch, Launch, Segment
from tests.plans import ops_of

N = Dim("n", min=1, max=100_000)


def known(name: str, table: RangeTable, **arguments: Any) -> None:
    """Write a tuning file as if it had been measured."""
    operation = CHOICES[name].operation
    operation.records.clear()
    bound = tensors(**arguments)
    remember(operation, TuningRecord(setting_of(operation, bound), table))


def two(bound: int, first: str, second: str) -> RangeTable:
    rows = up_to(bound, first, second).rows
    return RangeTable(tuple(Row(r.box, r.serves, 1.0, "measured") for r in rows))


@pytest.fixture(autouse=True)
def forgotten() -> Any:
    """Forget what a test wrote before the next one runs."""
    yield
    for choice in CHOICES.values():
        choice.operation.records.clear()
        choice.operation.files.clear()


def linear() -> tuple[nn.Module, Callable[[int], tuple[Tensor, ...]]]:
    model = nn.Linear(24, 40).eval()
    return model, lambda n: (torch.randn(n, 24),)


def attended() -> tuple[Callable[..., Tensor], Callable[[int], tuple[Tensor, ...]]]:
    def function(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return nn.functional.scaled_dot_product_attention(q, k, v)

    keys = torch.randn(2, 4, 70, 64), torch.randn(2, 4, 70, 64)
    return function, lambda n: (torch.randn(2, 4, n, 64), *keys)


def summed() -> tuple[Callable[..., Any], Callable[[int], tuple[Tensor, ...]]]:
    return lambda x: (x.sum(1), x.exp().amax(1)), lambda n: (torch.randn(3, n),)


CASES = {
    "matmul": (linear, ({0: N},)),
    "attention": (attended, ({2: N}, None, None)),
    "reduction": (summed, ({1: N},)),
    "kernel_threads": (summed, ({1: N},)),
    "matmul_threads": (linear, ({0: N},)),
    "attention_threads": (attended, ({2: N}, None, None)),
}


def compiled(name: str, **options: Any) -> tuple[Any, Callable[..., Any], Any]:
    make, shapes = CASES[name]
    model, arguments = make()
    with torch.no_grad():
        exe = ingot.compile(model, arguments(9), dynamic_shapes=shapes, options=options)
    return exe, model, arguments


def check(exe: Any, model: Callable[..., Any], arguments: Any, sizes: tuple[int, ...]) -> None:
    with torch.no_grad():
        for n in sizes:
            given = arguments(n)
            torch.testing.assert_close(exe(*given), model(*given), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "way"), [(name, way) for name, c in CHOICES.items() for way in c.variants]
)
def test_every_way_is_right(name: str, way: str) -> None:
    exe, model, arguments = compiled(name, variants=f"{name}={way}")
    (chosen,) = (c for c in exe.compiled.choices if c.name == name)
    assert [row.serves for row in chosen.table.rows] == [way]
    assert chosen.table.rows[0].why == "fixed by hand"
    check(exe, model, arguments, (1, 2, 5, 64, 3000))


def steps_of(exe: Any) -> list[Any]:
    segments = ops_of(exe.compiled, Segment)
    return [op for segment in segments if isinstance(segment, Segment) for op in segment.ops]


def test_a_product_branches_natively_by_its_rows() -> None:
    f32 = torch.float32
    known("matmul", two(8, "library", "packed"), a=(f32, (37, 24), (24, 1)),
          w=(f32, (24, 40), (1, 24)))  # fmt: skip
    exe, model, arguments = compiled("matmul")
    (step,) = steps_of(exe)
    assert [len(step.then), len(step.otherwise)] == [1, 1]
    assert step.then[0].kernel != step.otherwise[0].kernel
    check(exe, model, arguments, (1, 8, 9, 200))
    (chosen,) = (c for c in exe.compiled.choices if c.name == "matmul")
    assert chosen.setting == "a: float32[*, 24]; w: float32[24, 40] by [1, 0]"
    assert [row.serves for row in chosen.table.rows] == ["library", "packed"]


def test_a_static_product_takes_the_way_of_its_range() -> None:
    f32 = torch.float32
    known("matmul", two(8, "library", "packed"), a=(f32, (37, 24), (24, 1)),
          w=(f32, (24, 40), (1, 24)))  # fmt: skip
    model = nn.Linear(24, 40).eval()
    functions = []
    with torch.no_grad():
        for n in (4, 20):
            exe = ingot.compile(model, (torch.randn(n, 24),))
            x = torch.randn(n, 24)
            torch.testing.assert_close(exe(x), model(x), rtol=1e-4, atol=1e-5)
            (step,) = steps_of(exe)
            assert isinstance(step, Launch)
            functions.append(step.kernel)
        assert not ingot.compile(model, (torch.randn(4, 24),)).compiled.prepared, "nothing packed"
    assert functions[0] != functions[1]


def test_attention_branches_natively_by_its_queries() -> None:
    exe, model, arguments = compiled("attention")
    (step,) = steps_of(exe)
    assert isinstance(step, Branch)
    few, many = step.then[0], step.otherwise[0]
    assert few.kernel == many.kernel and few.arguments != many.arguments
    check(exe, model, arguments, (1, 4, 5, 100))


def test_a_long_sum_is_cut_and_a_short_one_is_not() -> None:
    exe, model, arguments = compiled("reduction")
    (step,) = steps_of(exe)
    assert step.then[0].kernel != step.otherwise[0].kernel
    check(exe, model, arguments, (1, 100, 16383, 16384, 50_000))


def test_the_work_of_a_thread_comes_from_the_table() -> None:
    built_in = Variants(Options())
    usual = kernel_work(built_in), matmul_work(built_in)
    f32 = torch.float32
    known("kernel_threads", two(1023, "serial", "parallel"), x=(f32, (4096,), (1,)))
    assert kernel_work(Variants(make_options())) != usual[0]
    for way, work in (("parallel", 1), ("serial", NEVER)):
        assert matmul_work(Variants(make_options({"variants": f"matmul_threads={way}"}))) == work


def test_threads_that_were_never_of_use_are_not_believed() -> None:
    """Such a table was measured while other processes occupied the cores."""
    f32, usual = torch.float32, matmul_work(Variants(Options()))
    rows = tuple(Row(r.box, r.serves, 1.0, "measured") for r in always("serial").rows)
    known(
        "matmul_threads", RangeTable(rows), a=(f32, (37, 64), (64, 1)), w=(f32, (64, 64), (64, 1))
    )
    assert matmul_work(Variants(make_options())) == usual


def test_what_is_not_known_is_built_in() -> None:
    built_in = up_to(4, "few", "many")
    assert covered(RangeTable(()), built_in) == built_in
    one = RangeTable((Row((Range(9, 16),), "few", 1.0, "measured"),))
    found = covered(one, built_in)
    assert [(row.box[0].as_text(), row.serves) for row in found.rows] == [
        ("0..4", "few"), ("5..8", "many"), ("9..16", "few"), ("17..", "many"),
    ]  # fmt: skip


def test_an_unsure_measurement_changes_nothing() -> None:
    f32 = torch.float32
    row = Row((Range(0, None),), "library", 0.6, "measured")
    known("matmul", RangeTable((row,)), a=(f32, (37, 24), (24, 1)), w=(f32, (24, 40), (1, 24)))
    exe, _, _ = compiled("matmul")
    (chosen,) = (c for c in exe.compiled.choices if c.name == "matmul")
    assert [(row.serves, row.why) for row in chosen.table.rows] == [("packed", BUILT_IN)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["matmul", "attention"])
def test_measured_once_and_kept(name: str, tuning_folder: Path) -> None:
    exe, model, arguments = compiled(name, tune=math.inf)
    (file,) = tuning_folder.glob(f"{name}-*.json")
    written = file.read_text()
    (record,) = json.loads(written)["records"]
    assert record["samples"] and not record["disqualified"]
    check(exe, model, arguments, (1, 5, 100))
    (chosen,) = (c for c in exe.compiled.choices if c.name == name)
    assert chosen.times()
    compiled(name, tune=math.inf)
    assert file.read_text() == written


def test_time_for_measuring_is_a_share_of_compiling() -> None:
    account = Account()
    assert account.left(0.1) == 0
    assert account.left(math.inf) == MOST_SECONDS
    with account.compile():
        torch.randn(1000).sort()
        assert 0 < account.left(0.1) < 0.1
        with account.measure():
            torch.randn(1000).sort()
        assert account.left(1e-9) < 0, "no more than the share"


@pytest.mark.parametrize(("seconds", "measures"), [(1.5, False), (20.0, True)])
def test_measuring_begins_when_its_share_is_enough(
    seconds: float, measures: bool, tuning_folder: Path, monkeypatch: Any
) -> None:
    """A tenth of 1.5 s is too little to compile the candidates: with it, a network of 32 layers
    took 1.9 times as long as one of 2."""
    monkeypatch.delenv("INGOT_TUNE")
    assert make_options().tune == 0.1
    account = Account()
    account._compiling = seconds
    monkeypatch.setattr("ingot.dispatch.variants.account", account)
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    compiled("matmul")
    assert tuning_folder.exists() == measures
    assert bool(account.measuring) == measures


def test_variants_are_checked() -> None:
    with pytest.raises(OptionError, match="did you mean 'matmul'"):
        compiled("matmul", variants="matml=library")
    with pytest.raises(
        OptionError, match="unknown variant for matmul: 'librry'; choose 'packed' or 'library'"
    ):
        compiled("matmul", variants="matmul=librry")


def test_former_name_of_the_option_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(
        DeprecationWarning, match="the option 'ways' is called 'variants' now"
    ) as told:
        options = make_options({"ways": "matmul=library"})
    assert options == make_options({"variants": "matmul=library"})
    assert len(told) == 1 and told[0].filename == __file__
    with pytest.warns(DeprecationWarning):
        assert Options(ways="matmul=library").variants == options.variants
    monkeypatch.setenv("INGOT_WAYS", "matmul=packed")
    with pytest.warns(DeprecationWarning):
        assert make_options().variants == "matmul=packed"


def test_the_report_shows_choices_and_candidates() -> None:
    model = nn.Linear(24, 40).eval()
    with torch.no_grad():
        report = ingot.explain(model, (torch.randn(5, 24),), options={"variants": "matmul=library"})
    (row,) = (row for row in report.choices if row.name == "matmul")
    assert row.candidates == ("packed", "library")
    assert "library (fixed by hand)" in row.served[0]
    assert "matmul among packed, library" in str(report)


def test_weights_are_watched_in_both_ways() -> None:
    model, arguments = linear()
    for way in ("packed", "library"):
        with torch.no_grad():
            exe = ingot.compile(
                model,
                arguments(5),
                dynamic_shapes=({0: N},),
                options={"variants": f"matmul={way}"},
            )
            for _ in range(2):
                check(exe, model, arguments, (3, 30))
                model.weight.mul_(0.5)  # type: ignore[union-attr, operator]


def test_training_takes_the_library_too() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    fast = torch.compile(model, backend="ingot", options={"variants": "matmul=library"})
    x = torch.randn(5, 8)
    fast(x).sum().backward()
    got = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    model(x).sum().backward()
    torch.testing.assert_close(got, [p.grad for p in model.parameters()], rtol=1e-4, atol=1e-4)
