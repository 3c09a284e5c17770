"""Selects the tested (op, dtype) pairs, the number of samples of each, and the pairs that CI runs.

Each pair of PyTorch's OpInfo table becomes a pytest parameter with its `slow` mark and its row of
expected.py. CI runs f32 (or the op's first dtype) and two other dtypes of every op. The two are
chosen by a stable hash of the name, so that related ops together cover all dtypes. `slow` runs the
rest and more samples.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from unittest import mock

import pytest
import torch
from torch.testing._internal import common_methods_invocations as invocations
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import ErrorInput, OpInfo, SampleInput

from .expected import EXPECTED, METADATA_ONLY, SKIPPED, SUMS_OF_RANDOM
from .harness import Program

DTYPES = (
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.float16,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
    torch.complex64,
)
SAMPLES_IN_CI = 3
SAMPLES_IN_SLOW = 12
LOOKED_AT = 96


def call_without_seeding(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return op(*args, **kwargs)


# Random ops of OpInfo set the seed inside the op, but a seed set during tracing is not part of the
# program. The harness sets the seed before every run instead.
invocations.wrapper_set_seed = call_without_seeding


def op_name(op: OpInfo) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def unique_ops() -> dict[str, OpInfo]:
    """The table by name; repeated names get a number."""
    ops: dict[str, OpInfo] = {}
    for op in op_db:
        name = op_name(op)
        numbered = (f"{name}#{i}" for i in itertools.count(2))
        ops[name if name not in ops else next(n for n in numbered if n not in ops)] = op
    return ops


OPS = unique_ops()


def dtypes_of(op: OpInfo, among: Iterable[torch.dtype] = DTYPES) -> list[torch.dtype]:
    supported = op.supported_dtypes("cpu")
    return [dtype for dtype in among if dtype in supported]


def ci_dtypes(name: str, dtypes: list[torch.dtype]) -> set[torch.dtype]:
    """The first dtype and two others."""
    first, rest = dtypes[:1], dtypes[1:]
    if not rest:
        return set(first)
    turn = zlib.crc32(name.encode()) % len(rest)
    return {*first, rest[turn], rest[(turn + 3) % len(rest)]}


def expectation(name: str, variant: str, dtype: str) -> list[pytest.MarkDecorator]:
    skip = SKIPPED.get((name, variant)) or SKIPPED.get((name, "*"))
    if skip:
        return [pytest.mark.skip(reason=skip)]
    for key in ((name, variant, dtype), (name, variant, "*")):
        if key in EXPECTED:
            return [pytest.mark.xfail(reason=EXPECTED[key], strict=True)]
    return []


def case(name: str, variant: str, dtype: torch.dtype, *more: Any, slow: bool) -> Any:
    """`more` holds further parameters of the case, which `variant` names."""
    text = dtype_name(dtype)
    marks = expectation(name, variant, text)
    if slow:
        marks.append(pytest.mark.slow)
    label = f"{name}-{text}-{variant}" if more else f"{name}-{text}"
    return pytest.param(name, dtype, *more, marks=marks, id=label)


def forward_cases() -> Iterator[Any]:
    for name, op in OPS.items():
        dtypes = dtypes_of(op)
        in_ci = ci_dtypes(name, dtypes)
        for dtype in dtypes:
            yield case(name, "forward", dtype, slow=dtype not in in_ci)


def inplace_cases() -> Iterator[Any]:
    for name, op in OPS.items():
        if op.get_inplace() is None:
            continue
        dtypes = dtypes_of(op)
        in_ci = set(dtypes[:1]) | set(dtypes_of(op, (torch.int32,)))
        for dtype in dtypes:
            yield case(name, "inplace", dtype, slow=dtype not in in_ci)


def grad_cases() -> Iterator[Any]:
    """f32 for every differentiable op, bf16 for one op in four (for all when slow)."""
    for name, op in OPS.items():
        if not op.supports_autograd:
            continue
        supported = op.supported_backward_dtypes("cpu")
        for dtype in dtypes_of(op, (torch.float32, torch.bfloat16, torch.complex64)):
            if dtype not in supported:
                continue
            spot = dtype is torch.bfloat16 and zlib.crc32(name.encode()) % 4 == 0
            yield case(name, "grad", dtype, slow=not (dtype is torch.float32 or spot))


def error_cases() -> Iterator[Any]:
    for name, op in OPS.items():
        if op.error_inputs_func is not None:
            yield pytest.param(name, marks=expectation(name, "error", "*"), id=name)


def whole_cases() -> Iterator[Any]:
    """Every op once through torch.compile; CI runs one in three."""
    for name, op in OPS.items():
        dtypes = dtypes_of(op)
        if dtypes:
            slow = zlib.crc32(name.encode()) % 3 != 0
            yield case(name, "static", dtypes[0], False, slow=slow)
            yield case(name, "dynamic", dtypes[0], True, slow=slow)


def spread(samples: list[Any], count: int) -> list[Any]:
    """`count` of the samples, evenly spaced, including the first and the last."""
    if len(samples) <= count or count == 1:
        return samples[:count]
    last = len(samples) - 1
    return [samples[round(i * last / (count - 1))] for i in range(count)]


def samples_of(
    op: OpInfo, dtype: torch.dtype, count: int, *, requires_grad: bool = False
) -> list[SampleInput]:
    torch.manual_seed(0)
    samples = op.sample_inputs("cpu", dtype, requires_grad=requires_grad)
    return spread(list(itertools.islice(samples, LOOKED_AT)), count)


def error_inputs_of(op: OpInfo) -> list[ErrorInput]:
    """Error inputs with every uninitialised element set to 1: many samples leave tensors
    uninitialised, and some are refused depending on their contents."""

    def filled(*args: Any, **kwargs: Any) -> torch.Tensor:
        with torch.no_grad():
            return uninitialized(*args, **kwargs).fill_(1)

    uninitialized = torch.empty
    with mock.patch.object(torch, "empty", filled):
        return list(op.error_inputs("cpu"))


def program_of(function: Callable[..., Any], sample: SampleInput) -> Program:
    return Program(function, (sample.input, *sample.args), sample.kwargs)


def metadata_only(name: str) -> bool:
    """Whether the values of an op are undefined, as of torch.empty."""
    return name in METADATA_ONLY


def exact_random(name: str) -> bool:
    """Whether the results of a random op must equal eager's exactly."""
    return name not in SUMS_OF_RANDOM
