"""Small programs down all four roads, each run back and equal to eager, or refused by name."""

from __future__ import annotations

import copy

import pytest

import ingot
from tests.emit.programs import SMALL

DIALECTS = ("torch", "linalg", "tosa", "stablehlo")


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
        elif f"{dialect} run" in case.refused:
            assert "func.func @main" in program.to_mlir(dialect).text
            with pytest.raises(ingot.EmitError, match=case.refused[f"{dialect} run"]):
                program.verify(dialect, args)
        else:
            assert program.verify(dialect, args).dialect == dialect
