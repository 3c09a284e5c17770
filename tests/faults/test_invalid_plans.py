"""A plan that does not verify never runs: the error or the warning names the plan's text and the
command that repeats the failure."""

from __future__ import annotations

import re
import runpy
import warnings
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

import ingot
from ingot.errors import FallbackWarning, PlanError
from ingot.plan.arena import Lifetime
from ingot.plan.text import parse
from ingot.plan.verify import verify


def program(x: Tensor, w: Tensor) -> Tensor:
    """Its arena holds two values at the same time."""
    y = x @ w
    z = y.sum(1, keepdim=True) + y.amax(0)
    return (z @ w).sum(0) + z.sum(1, keepdim=True).amax()


def _given() -> tuple[Tensor, Tensor]:
    return torch.randn(16, 16), torch.randn(16, 16)


@pytest.fixture
def everything_at_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """The arena pass places every buffer at the same address."""

    def at_zero(lives: Sequence[Lifetime]) -> tuple[list[int], int]:
        return [0 for _ in lives], max((life.size for life in lives), default=0)

    monkeypatch.setattr("ingot.plan.passes.assign_arena.arranged", at_zero)


def _files(message: str) -> tuple[Path, Path]:
    plan = re.search(r"plan\.txt: (\S+/plan\.txt)", message)
    script = re.search(r"Reproducer: python (\S+)", message)
    assert plan and script, message
    return Path(plan[1]), Path(script[1])


def _check_files(message: str) -> None:
    text, script = _files(message)
    with pytest.raises(PlanError, match="overlaps"):
        verify(parse(text.read_text()))
    with pytest.raises(PlanError, match="overlaps"):
        runpy.run_path(str(script), run_name="__main__")


def test_strict_raises_and_names_the_files(everything_at_zero: None) -> None:
    with torch.no_grad(), pytest.raises(PlanError, match="overlaps") as caught:
        ingot.compile(program, _given(), options={"strict": True})
    _check_files(str(caught.value))


def test_strict_through_dynamo(everything_at_zero: None) -> None:
    compiled = torch.compile(program, backend="ingot", options={"strict": True})
    with torch.no_grad(), pytest.raises(Exception, match="internal error: invalid plan") as caught:
        compiled(*_given())
    _check_files(str(caught.value))


@pytest.mark.parametrize("ahead", [True, False])
def test_otherwise_pytorch_runs_the_graph(everything_at_zero: None, ahead: bool) -> None:
    given = _given()
    with torch.no_grad(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled = (
            ingot.compile(program, given) if ahead else torch.compile(program, backend="ingot")
        )
        result = compiled(*given)
        torch.testing.assert_close(compiled(*given), result)
    (warning,) = [w for w in caught if issubclass(w.category, FallbackWarning)]
    torch.testing.assert_close(result, program(*given))
    assert "overlaps" in str(warning.message)
    _check_files(str(warning.message))
