"""Random programs of views, writes and nested regions equal eager in results, writes, aliases and
gradients; programs that eager refuses are refused."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, reject, seed, settings

import ingot
from tests.programs.check import Outcome, copied, observed

from .check import assert_functional, compare
from .random_programs import SETUPS, RandomProgram, setups, statements

IN_CI = [(number, 100) for number in range(5)]
IN_ALL = [pytest.param(number, 200, marks=pytest.mark.slow) for number in range(5, 55)]
"""500 and 10,000 programs, in chunks for parallel workers: (seed, number of programs)."""
COMMON: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "database": None,
}
STRICTER = (
    "history of its own",  # a detached alias of an input acquires a history and is returned
    "single memory location",  # eager checks dense tensors only
    "made under inference_mode",  # eager allows writes to a detached alias of such a tensor
)
"""Errors of ingot for programs that eager runs."""


@pytest.mark.parametrize(("number", "count"), [*IN_CI, *IN_ALL])
def test_random_programs(number: int, count: int) -> None:
    @seed(number)
    @given(statements, setups)
    @settings(max_examples=count, **COMMON)
    def run_chunk(program: Sequence[Any], setup: str) -> None:
        check_random(program, setup)

    run_chunk()


def check_random(program: Sequence[Any], name: str) -> None:
    setup = SETUPS[name]
    model = RandomProgram(program, setup.writes_input)
    grad = any(setup.grad)
    args = tuple(
        torch.linspace(start, 1, 12).view(3, 4).requires_grad_(flag)
        for start, flag in zip((-2, 0.5), setup.grad)
    )
    want = eagerly(model, args, grad)
    if isinstance(want, Exception):
        check_refused(model, args, grad, str(want))
        return
    made: list[ingot.Program] = []

    def export(function: Any) -> ingot.Program:
        made.append(ingot.export(function, args, level="pre-dispatch"))
        return made[-1]

    try:
        got = observed(model, args, grad, 1, export)
    except ingot.CaptureError as error:
        assert any(rule in str(error) for rule in STRICTER), error
        reject()
    assert_functional(made[-1])
    compare(got, want, exact=True, strides=False)


def check_refused(model: RandomProgram, args: tuple[Any, ...], grad: bool, why: str) -> None:
    """Refused by the export, or by the call with eager's message if it depends on requires_grad."""
    try:
        program = ingot.export(copy.deepcopy(model), args, level="pre-dispatch")
    except ingot.IngotError:
        return
    with torch.set_grad_enabled(grad), pytest.raises(RuntimeError, match=re.escape(why[:60])):
        program(*copied(args))


def eagerly(model: RandomProgram, args: tuple[Any, ...], grad: bool) -> Outcome | Exception:
    """The outcome in eager, or the error of its forward. Programs whose backward fails because a
    write destroyed a saved tensor are rejected: they do not test ingot."""
    try:
        with torch.set_grad_enabled(grad):
            copy.deepcopy(model)(*copied(args))
    except RuntimeError as error:
        return error
    try:
        return observed(model, args, grad, 1, lambda f: f)
    except (RuntimeError, AssertionError):
        reject()
