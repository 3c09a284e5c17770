"""Random programs of views, writes and nested regions: equal to eager in results, writes, aliases
and gradients; what eager refuses is refused."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import ingot
from tests.programs.check import Outcome, copied, observed

from .check import assert_functional, compare
from .random_programs import RandomProgram, statements

IN_CI, IN_ALL = 500, 10_000
COMMON: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "database": None,
}


@given(statements, st.booleans())
@settings(max_examples=IN_CI, derandomize=True, **COMMON)
def test_random_programs(program: Sequence[Any], writes_input: bool) -> None:
    check_random(program, writes_input)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@given(statements, st.booleans())
@settings(max_examples=IN_ALL, **COMMON)
def test_many_random_programs(program: Sequence[Any], writes_input: bool) -> None:
    check_random(program, writes_input)


def check_random(program: Sequence[Any], writes_input: bool) -> None:
    model = RandomProgram(program, writes_input)
    grad = not writes_input
    args = tuple(torch.linspace(a, 1, 12).view(3, 4).requires_grad_(grad) for a in (-2, 0.5))
    want = eagerly(model, args, grad)
    if isinstance(want, Exception):
        with pytest.raises(ingot.IngotError):
            ingot.export(model, args, level="pre-dispatch")
        return
    made: list[ingot.Program] = []

    def export(function: Any) -> ingot.Program:
        made.append(ingot.export(function, args, level="pre-dispatch"))
        return made[-1]

    try:
        got = observed(model, args, grad, 1, export)
    except ingot.CaptureError as error:
        # The one program that eager runs and we refuse: a detached alias of the buffer that got a
        # history, and is returned.
        assert "history of its own" in str(error)
        reject()
    assert_functional(made[-1])
    compare(got, want, exact=True, strides=False)


def eagerly(model: RandomProgram, args: tuple[Any, ...], grad: bool) -> Outcome | Exception:
    """What eager does, or the error of its forward. Programs whose backward fails, because a write
    destroyed what it needs, say nothing about ours."""
    try:
        with torch.set_grad_enabled(grad):
            copy.deepcopy(model)(*copied(args))
    except RuntimeError as error:
        return error
    try:
        return observed(model, args, grad, 1, lambda f: f)
    except (RuntimeError, AssertionError):
        reject()
