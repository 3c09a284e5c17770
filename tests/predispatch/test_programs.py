"""Every program of programs.py, exported at pre-dispatch level: it verifies and equals eager in
results, writes, aliases and gradients, in the first call and in the second."""

from __future__ import annotations

import pytest

from .check import check
from .programs import CASES, Case


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_program_equals_eager(case: Case) -> None:
    function, args = case.build()
    check(function, *args, grad=case.grad)


def test_there_are_enough() -> None:
    assert len(CASES) >= 40
