"""Small programs lowered to all four dialects: each is run back and equal to eager, or refused by
name."""

from __future__ import annotations

import copy

import pytest

import ingot
from tests.emit.programs import DIALECTS, SMALL


@pytest.mark.parametrize("name", SMALL)
def test_small_program(name: str) -> None:
    case = SMALL[name]
    program = ingot.export(case.run, copy.deepcopy(case.args), **case.settings)
    for dialect in DIALECTS:
        args = copy.deepcopy(case.args)
        if dialect in case.refused:
            with pytest.raises(ingot.EmitError) as caught:
                program.to_mlir(dialect)
            assert case.refused[dialect] in str(caught.value)
            assert caught.value.problems
        else:
            assert program.verify(dialect, args).dialect == dialect
