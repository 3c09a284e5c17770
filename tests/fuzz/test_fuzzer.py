"""The fuzzer itself: what it cannot read, compare or copy is a finding or an error of its own, and
neither is taken for the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from . import outstanding
from .outstanding import Outstanding, unexplained
from .schemas import evidence
from .schemas.campaign import Fault, Summary
from .schemas.check import check, deterministic, modes_of, options_of
from .schemas.defined import overlaps_itself
from .schemas.evidence import Evidence
from .schemas.inputs import Input
from .schemas.judge import compare
from .schemas.modes import AHEAD, AHEAD_AUTO, MODES, STATIC, TRAINING, Mode, as_called, runs
from .schemas.outcome import FuzzerError, Unreadable, eager, observe, snapshot, unreadable
from .schemas.program import Program, Ref, Statement
from .schemas.script import script

X = Input("x", "float32", (2, 3))
SINE = Program((X,), (Statement(("y",), "torch.sin", (Ref("x"),), op="sin.default"),), ("y",))
TRAINED = SINE.without(inputs=(replace(X, grad=True),), grad=True)
STORED = torch.zeros(4)
BAD = {
    "negative bit": torch._neg_view(torch.ones(2, dtype=torch.bool)),
    "elements 0 to 5 of 4": torch.ops.aten._reshape_alias(STORED, [2, 3], [3, 1]),
}


@pytest.mark.parametrize("reason", BAD)
def test_an_unreadable_result_is_a_difference(reason: str) -> None:
    assert reason in unreadable(BAD[reason])
    want = eager(SINE, 0)
    got = observe(lambda x: [BAD[reason]], SINE, SINE.make_inputs(0))
    assert isinstance(got.results[0], Unreadable)
    assert [each.kind for each in compare(got, want, Evidence(SINE, 0, want))][:1] == ["number"]


def test_views_of_their_own_memory_are_readable() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    for view in (x[1:, ::2], x.mT, x[:, 4:], x.expand(2, 3, 4), x[2, 3], x.view(torch.int16)):
        assert not unreadable(view) and torch.equal(snapshot(view).value, view)


def test_overlap_is_found_from_sizes_and_strides() -> None:
    x = torch.arange(6.0)
    assert overlaps_itself(x.expand(2, 6)) and overlaps_itself(x.unfold(0, 2, 1))
    assert not overlaps_itself(x.unfold(0, 2, 2)) and not overlaps_itself(x[1::2])
    assert overlaps_itself(torch.ops.aten._reshape_alias(x, [4, 4], [2, 1]))


def test_sequences_in_results_are_compared_by_element() -> None:
    split = Statement(("y",), "torch.chunk", (Ref("x"), 2), op="chunk.default")
    program = Program((X,), (split,), ("y",))
    assert deterministic(program) and len(eager(program, 0).results) == 2
    assert check(program, STATIC) is None


def test_a_failure_of_the_fuzzer_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(evidence, "shake", fails)
    with pytest.raises(FuzzerError, match="broken"):
        _ = Evidence(SINE, 0, eager(SINE, 0)).shaken


def test_half_of_the_programs_run_with_bounds_checks() -> None:
    chosen = [options_of(seed, {"strict": True}) for seed in range(6)]
    assert [each.get("checks") for each in chosen] == [None, "bounds"] * 3
    assert options_of(1, {"checks": ""}) == {"checks": ""}
    assert "'checks': 'bounds'" in script(SINE, AHEAD.name, chosen[1], "")
    assert "'checks': 'bounds'" in script(SINE, STATIC.name, chosen[1], "")


def test_programs_with_gradients_run_in_each_mode() -> None:
    assert {mode.name for seed in range(40) for mode in modes_of(TRAINED, seed)} == set(MODES)
    assert TRAINING not in {mode for seed in range(40) for mode in modes_of(SINE, seed)}
    aliased = TRAINED.without(
        inputs=(*TRAINED.inputs, Input("y", "float32", (2, 3), "{0}[1:]", alias_of="x"))
    )
    assert not runs(aliased, TRAINING) and runs(aliased, AHEAD)


@pytest.mark.parametrize("mode", [AHEAD, AHEAD_AUTO, TRAINING], ids=lambda mode: mode.name)
def test_gradients_of_programs_compiled_ahead_are_compared(mode: Mode) -> None:
    assert check(TRAINED, mode) is None


def test_a_lost_history_is_found() -> None:
    want = eager(TRAINED, 0)
    got = observe(lambda x: [x.detach().sin()], TRAINED, TRAINED.make_inputs(0))
    kinds = {each.kind for each in compare(got, want, Evidence(TRAINED, 0, want))}
    assert kinds == {"count", "bits"}


def test_a_wrong_gradient_of_a_training_step_is_found() -> None:
    program = as_called(TRAINED, TRAINING)
    want = eager(program, 0)
    right = observe(program.function(), program, program.make_inputs(0))
    assert not compare(right, want, Evidence(program, 0, want))
    twice = replace(right, results=[right.results[0], snapshot(2 * right.results[1].value)])
    (found,) = compare(twice, want, Evidence(program, 0, want))
    assert (found.kind, found.where) == ("value", "result 1")
    assert "trained(program, inputs()" in script(TRAINED, TRAINING.name, {}, "")


def test_the_table_of_outstanding_differences_is_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Outstanding("A", "value", "sin(x) is wrong")
    monkeypatch.setattr(outstanding, "OUTSTANDING", {7: entry, 90: entry})
    monkeypatch.setattr(outstanding, "SHARED", {8: entry})
    fault = Fault(7, "compile-static", SINE, "value: sin", "value", "", {})
    shared = replace(fault, seed=8, shared=True)
    seeds = range(10)
    assert not unexplained(Summary(faults=[fault], shared=[shared]), seeds)
    (fixed,) = unexplained(Summary(faults=[fault]), seeds)
    assert fixed == "seed 8 no longer differs: sin(x) is wrong"
    other = replace(fault, kind="raises: CompileError")
    assert len(unexplained(Summary(faults=[fault, other], shared=[shared]), seeds)) == 1
    assert len(unexplained(Summary(faults=[fault], shared=[fault]), seeds)) == 2
