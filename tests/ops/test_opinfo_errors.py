"""Inputs from OpInfo.error_inputs, which eager refuses: the compiled program must refuse them too.

One test for each op. An error raised during tracing comes from PyTorch's own shape functions and
may differ in type from the kernel's; an error raised at run time must have eager's type.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor
from torch._dynamo.exc import TorchRuntimeError, UserError

from .cases import OPS, error_cases, error_inputs_of, program_of
from .harness import Program, compile_direct, compile_whole, copy_tensors, eager_error


def met_while_tracing(error: Exception) -> bool:
    """Whether it comes from PyTorch's shape functions, before the graph reached ingot's own
    passes."""
    frames = traceback.extract_tb(error.__traceback__)
    return not any(frame.filename.endswith("ingot/pipeline.py") for frame in frames)


def compiled_error(program: Program) -> tuple[Exception | None, bool]:
    """The error, and whether it was raised during tracing."""
    tensors: Sequence[Tensor] = copy_tensors(program.tensors())
    try:
        if tensors and all(t.layout is torch.strided for t in tensors):
            call = compile_direct(program, tensors, 1)
        else:
            call = compile_whole(program)
    except Exception as error:
        return error, met_while_tracing(error)
    try:
        call(tensors)
    except (TorchRuntimeError, UserError) as error:
        return error, True  # Dynamo's wrapper of an error in a shape function
    except Exception as error:
        return error, False
    return None, False


@pytest.mark.parametrize("name", error_cases())
def test_error_inputs(name: str) -> None:
    op = OPS[name]
    failures: list[str] = []
    for position, error_input in enumerate(error_inputs_of(op)):
        sample = error_input.sample_input
        program = program_of(op.op, sample)
        expected = eager_error(program)
        if expected is None:
            continue  # an error of the op's reference or of another device
        with torch.no_grad():
            got, while_tracing = compiled_error(program)
        label = f"error input {position} ({sample.summary()})"
        if got is None:
            failures.append(f"{label}: no error, eager raises {expected!r}")
        elif not while_tracing and not isinstance(got, type(expected)):
            failures.append(f"{label}: {got!r}, eager raises {expected!r}")
    assert not failures, "\n".join(failures)
