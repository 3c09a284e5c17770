"""Every op of PyTorch's OpInfo table, compiled and compared with eager.

One test for each (op, dtype): forward under no_grad, the in-place variant if there is one, and
gradients. Checked: values, dtypes, shapes, strides, aliasing of outputs with inputs, the inputs
after the call, and for random ops the exact values and the generator's state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing._internal.opinfo.core import SampleInput

from .cases import (
    OPS,
    SAMPLES_IN_CI,
    SAMPLES_IN_SLOW,
    exact_random,
    forward_cases,
    grad_cases,
    inplace_cases,
    metadata_only,
    program_of,
    samples_of,
)
from .harness import eager_error
from .judge import check_forward, check_gradients


def sample_count(request: pytest.FixtureRequest) -> int:
    return SAMPLES_IN_SLOW if request.node.get_closest_marker("slow") else SAMPLES_IN_CI


def describe_sample(name: str, dtype: torch.dtype, position: int, sample: SampleInput) -> str:
    return f"{name} {dtype} sample {position}: {sample.summary()}\n"


@pytest.mark.parametrize(("name", "dtype"), forward_cases())
def test_forward(name: str, dtype: torch.dtype, request: pytest.FixtureRequest) -> None:
    op = OPS[name]
    for position, sample in enumerate(samples_of(op, dtype, sample_count(request))):
        label = describe_sample(name, dtype, position, sample)
        check_forward(
            program_of(op.op, sample),
            label,
            values=not metadata_only(name),
            exact_random=exact_random(name),
        )


@pytest.mark.parametrize(("name", "dtype"), inplace_cases())
def test_inplace(name: str, dtype: torch.dtype, request: pytest.FixtureRequest) -> None:
    op = OPS[name]
    inplace = op.get_inplace()
    for position, sample in enumerate(samples_of(op, dtype, sample_count(request))):
        if sample.broadcasts_input or not isinstance(sample.input, Tensor):
            continue
        program = program_of(inplace, sample)
        if isinstance(eager_error(program), RuntimeError):
            continue  # eager refuses a result that the input's dtype or shape cannot hold
        label = describe_sample(f"{name} in place", dtype, position, sample)
        check_forward(program, label, values=not metadata_only(name))


def differentiable(op_function: Callable[..., Any], sample: SampleInput) -> Callable[..., Any]:
    """The op followed by OpInfo's selection of outputs whose gradient is well defined."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return sample.output_process_fn_grad(op_function(*args, **kwargs))

    return function


@pytest.mark.parametrize(("name", "dtype"), grad_cases())
def test_gradients(name: str, dtype: torch.dtype, request: pytest.FixtureRequest) -> None:
    op = OPS[name]
    count = max(2, sample_count(request) // 2)
    samples = samples_of(op, dtype, count, requires_grad=True)
    for position, sample in enumerate(samples):
        program = program_of(differentiable(op.op, sample), sample)
        check_gradients(program, describe_sample(f"{name} grad", dtype, position, sample))
