"""Core ops on inputs that OpInfo leaves out: odd shapes, layouts and values.

Each op of the tables in edges.py runs on every edge input. Values and metadata are compared with
eager as in test_opinfo. One test runs one op and one dtype on all inputs and names every failing
input. Inputs that eager refuses are skipped; refusals are tested in test_edge_values.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from torch import Tensor

from .edges import BINARY, FLOAT_VALUES, INPUTS, ROWS, UNARY, VIEWS, Make
from .expected import EXPECTED
from .harness import Program, eager_error
from .judge import check_forward

FLOATS = (torch.float32, torch.bfloat16, torch.float64, torch.float16)
INTEGERS = (torch.int64, torch.int32, torch.uint8, torch.bool)
IN_CI = (torch.float32, torch.bfloat16, torch.int64)


def crossed(ops: Iterable[str], dtypes: Iterable[torch.dtype]) -> list[Any]:
    params = []
    for name in ops:
        for dtype in dtypes:
            text = str(dtype).removeprefix("torch.")
            reason = EXPECTED.get((name, "edge", text)) or EXPECTED.get((name, "edge", "*"))
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            if dtype not in IN_CI:
                marks.append(pytest.mark.slow)
            params.append(pytest.param(name, dtype, marks=marks, id=f"{name}-{text}"))
    return params


def inputs_for(dtype: torch.dtype) -> dict[str, Make]:
    return {**INPUTS, **FLOAT_VALUES} if dtype.is_floating_point else INPUTS


def check_on_inputs(function: Callable[..., Any], dtype: torch.dtype, operands: int) -> None:
    """Every edge input that eager accepts: all in one graph, then one by one if that fails."""
    programs: dict[str, Program] = {}
    for name, make in inputs_for(dtype).items():
        args = tuple(operand(make, dtype, position) for position in range(operands))
        program = Program(function, args, {})
        if eager_error(program) is None:
            programs[name] = program
    if not programs:
        pytest.skip("eager takes this op on none of the inputs")
    groups = tuple(program.args for program in programs.values())
    try:
        check_forward(Program(lambda *all_args: [function(*a) for a in all_args], groups, {}), "")
    except Exception as error:
        raise AssertionError(failures_one_by_one(programs)) from error


def failures_one_by_one(programs: dict[str, Program]) -> str:
    failures = []
    for name, program in programs.items():
        try:
            check_forward(program, name)
        except Exception as error:
            failures.append(f"{name}: {type(error).__name__}: {str(error)[:600]}")
    head = f"{len(failures)} of {len(programs)} inputs fail alone, and so does the graph of all"
    return "\n".join([head, *failures])


def operand(make: Make, dtype: torch.dtype, position: int) -> Tensor:
    """The second operand is the first one reversed: as extreme, but different in values and
    layout."""
    tensor = make(dtype)
    return tensor if position == 0 else tensor.flip(tuple(range(tensor.dim())))


@pytest.mark.parametrize(("name", "dtype"), crossed(UNARY, FLOATS + INTEGERS))
def test_unary(name: str, dtype: torch.dtype) -> None:
    check_on_inputs(UNARY[name], dtype, 1)


@pytest.mark.parametrize(("name", "dtype"), crossed(BINARY, FLOATS + INTEGERS))
def test_binary(name: str, dtype: torch.dtype) -> None:
    check_on_inputs(BINARY[name], dtype, 2)


@pytest.mark.parametrize(("name", "dtype"), crossed(ROWS, FLOATS + INTEGERS))
def test_rows(name: str, dtype: torch.dtype) -> None:
    check_on_inputs(ROWS[name], dtype, 1)


@pytest.mark.parametrize(("name", "dtype"), crossed(VIEWS, FLOATS + INTEGERS))
def test_views(name: str, dtype: torch.dtype) -> None:
    check_on_inputs(VIEWS[name], dtype, 1)
