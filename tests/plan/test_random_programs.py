"""Random programs with interpreted plans: each launch runs the ATen ops that it replaces. Together
with conftest.py (every plan verifies and round-trips through its text) and tests/fuzz, which runs
the same programs natively, this shows that plans describe their machine code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot import pipeline
from ingot.options import Options
from ingot.plan.interpret import interpret
from ingot.plan.ir import Plan
from ingot.plan.resources import Resources
from ingot.runtime.glue import Runner
from tests.fuzz.statements import FAMILIES
from tests.fuzz.test_programs import draw_and_check, fixed


@contextmanager
def interpreted() -> Iterator[list[Plan]]:
    """Interpret plans instead of running their machine code."""
    real = pipeline.emit
    plans: list[Plan] = []

    def emit(plan: Plan, resources: Resources, options: Options) -> Runner:
        plans.append(plan)

        def run(inputs: list[Any]) -> Sequence[Any]:
            given = list(inputs)
            inputs.clear()
            return interpret(plan, resources, given)

        return replace(real(plan, resources, options), run=run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "emit", emit)
        yield plans


@pytest.mark.parametrize("family", FAMILIES)
@fixed(15)
@given(data=st.data())
def test_interpreted(family: str, data: st.DataObject) -> None:
    with interpreted() as plans:
        draw_and_check(data.draw, family)
    assert plans


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@fixed(300)
@given(data=st.data())
def test_many_interpreted(family: str, data: st.DataObject) -> None:
    with interpreted():
        draw_and_check(data.draw, family)
