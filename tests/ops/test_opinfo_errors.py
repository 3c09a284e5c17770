"""Inputs that eager refuses, from OpInfo.error_inputs: the compiled program refuses them too.

One test for each op. An error met while tracing comes from PyTorch's own shape functions and may
differ in type from the kernel's; an error met while running must be of eager's type.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from .cases import OPS, error_cases, program_of
from .harness import Program, compile_direct, compile_whole, copy_tensors, eager_error

TRACING_ERRORS = (
    RuntimeError,
    ValueError,
    TypeError,
    IndexError,
    NotImplementedError,
    AssertionError,
    AttributeError,
    KeyError,
)


def compiled_error(program: Program) -> tuple[Exception | None, bool]:
    """The error, and whether it came from running rather than from compiling."""
    tensors: Sequence[Tensor] = copy_tensors(program.tensors())
    try:
        if tensors and all(t.layout is torch.strided for t in tensors):
            call = compile_direct(program, tensors, 1)
        else:
            call = compile_whole(program)
    except Exception as error:
        return error, False
    try:
        call(tensors)
    except Exception as error:
        return error, True
    return None, True


@pytest.mark.parametrize("name", error_cases())
def test_error_inputs(name: str) -> None:
    op = OPS[name]
    failures: list[str] = []
    for position, error_input in enumerate(op.error_inputs("cpu")):
        sample = error_input.sample_input
        program = program_of(op.op, sample)
        expected = eager_error(program)
        if expected is None:
            continue  # an error of the op's reference or of another device
        with torch.no_grad():
            got, while_running = compiled_error(program)
        label = f"error input {position} ({sample.summary()})"
        wanted = type(expected) if while_running else (type(expected), *TRACING_ERRORS)
        if got is None:
            failures.append(f"{label}: no error, eager raises {expected!r}")
        elif not isinstance(got, wanted):
            failures.append(f"{label}: {got!r}, eager raises {expected!r}")
    assert not failures, "\n".join(failures)
