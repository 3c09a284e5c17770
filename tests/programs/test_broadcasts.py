"""Broadcasting over dynamic sizes, each 1, 2 or more both in the example and in the call: the
result or the error of eager."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import Dim

import ingot
from ingot.errors import CaptureError

from .broadcasts import FUNCTIONS, Shape, inputs, outcome, shapes

Both = tuple[Shape, Shape]


def examples(name: str, count: int) -> list[Both]:
    """Shapes that eager accepts, those with ones first."""
    function = FUNCTIONS[name]
    fine = [s for s in shapes() if not isinstance(outcome(function, inputs(s)), Exception)]
    random.Random(name).shuffle(fine)
    fine.sort(key=lambda both: all(size > 1 for shape in both for size in shape))
    return fine[:count]


def ahead(function: Callable[..., Any], both: Both) -> Callable[..., Any]:
    dynamic = tuple({0: Dim.AUTO, 1: Dim.AUTO} for _ in both)
    return ingot.compile(function, inputs(both), dynamic_shapes=dynamic)


def through_dynamo(function: Callable[..., Any], both: Both) -> Callable[..., Any]:
    torch._dynamo.reset()
    return torch.compile(function, backend="ingot", dynamic=True)


def check(name: str, both: Both, entry_point: Callable[..., Any], sample: int) -> int:
    """The number of calls that returned a result."""
    function = FUNCTIONS[name]
    compiled = entry_point(function, both)
    others = list(shapes())
    random.Random(f"{name} {both}").shuffle(others)
    answered = 0
    for given in [both, *others[:sample]]:
        want, got = outcome(function, inputs(given)), outcome(compiled, inputs(given))
        if isinstance(got, Exception):
            assert given != both, f"{both}: {got}"
            assert isinstance(want, Exception) or isinstance(got, ingot.InputError), got
            continue
        assert not isinstance(want, Exception), f"made for {both}, {given}: no error"
        torch.testing.assert_close(
            got, want, equal_nan=True, msg=lambda m, g=given: f"{both} {g}\n{m}"
        )
        answered += 1
    return answered


@pytest.mark.parametrize("name", FUNCTIONS)
def test_ahead_of_time(name: str) -> None:
    for both in examples(name, 2):
        try:
            assert check(name, both, ahead, 81) >= 1
        except CaptureError as error:
            pytest.fail(f"{both}: {error}")


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_ahead_of_time_for_many_examples(name: str) -> None:
    for both in examples(name, 20):
        assert check(name, both, ahead, 81) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_through_dynamo(name: str) -> None:
    for both in examples(name, 3):
        assert check(name, both, through_dynamo, 12) >= 1
