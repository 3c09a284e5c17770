"""Random programs, compiled and compared with eager: outputs, inputs after the call, metadata,
aliasing.

CI runs a fixed set (derandomized); `slow` runs more, and through the whole of torch.compile. A
failure prints a script that reproduces it. The script of the running program is also kept in the
temporary directory (`ingot-fuzz-<worker>.py`), where it survives a crash of the process.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.ops.compare import alias_map, as_real, assert_same_metadata, usable_truth
from tests.ops.harness import (
    Program,
    backend,
    compile_program,
    compile_whole,
    copy_tensors,
    run,
    run_eager,
    widen,
)

from .programs import Source
from .statements import FAMILIES, random_program

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")
UNDER_WAY = Path(tempfile.gettempdir()) / f"ingot-fuzz-{WORKER}.py"
WORSE_THAN_EAGER = 4.0
SLACK_IN_EPS = 32.0


def fixed(examples: int) -> settings:
    """The same examples on every run."""
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )


def truth_of(source: Source, inputs: list[Tensor]) -> list[Tensor]:
    """The results and the inputs after the call, with the whole program in f64."""
    wide = [widen(tensor) for tensor in inputs]
    results = source.build_in_f64()(*wide)
    return [*results, *wide]


def assert_near(actual: Tensor, eager: Tensor, truth: Tensor | None, label: str) -> None:
    """Integers must be equal; for floats the worst error must be close to eager's own worst error.

    A chain of ops spreads the rounding of one element over others, so errors are relative to the
    largest element of the tensor.
    """
    got, want = as_real(actual), as_real(eager)
    assert torch.equal(got.isnan(), want.isnan()), f"{label}: NaN in other places than eager's"
    if not eager.is_floating_point():
        assert torch.equal(actual, eager), f"{label}: {actual} where eager gives {eager}"
        return
    true = as_real(truth) if truth is not None else want
    finite = want.isfinite() & true.isfinite()
    assert torch.equal(got[~finite & want.isinf()], want[~finite & want.isinf()]), (
        f"{label}: infinities differ from eager's"
    )
    if not finite.any():
        return
    error = (got - true)[finite].abs().max()
    eager_error = (want - true)[finite].abs().max()
    scale = true[finite].abs().max().clamp_min(1e-6)
    allowed = WORSE_THAN_EAGER * eager_error + SLACK_IN_EPS * torch.finfo(eager.dtype).eps * scale
    assert error <= allowed, (
        f"{label}: error {error:.3g} against the f64 truth, eager's is {eager_error:.3g}\n"
        f"got {actual}\neager {eager}"
    )


def check(source: Source, options: dict[str, Any], *, whole: bool) -> None:
    UNDER_WAY.write_text(source.script(options))
    program = Program(source.build(), tuple(source.make_inputs()), {})
    with torch.no_grad():
        eager = run_eager(program)
        truths = truth_of(source, source.make_inputs())
        tensors = copy_tensors(program.tensors())
        compiled_by = backend(**options)
        call = (
            compile_whole(program, compiled_by)
            if whole
            else compile_program(program, eager, compiled_by)
        )
        compiled = run(call, tensors)
    names = [f"result {name}" for name in source.returned]
    names += [f"input {name} after the call" for name in source.parameters]
    got, want = [*compiled.results, *compiled.inputs], [*eager.results, *eager.inputs]
    for name, actual, expected, truth in zip(names, got, want, truths, strict=True):
        assert_same_metadata(actual, expected, name)
        assert_near(actual, expected, usable_truth(truth, expected), name)
    aliases = alias_map(compiled.results, compiled.inputs)
    assert aliases == alias_map(eager.results, eager.inputs), f"results share inputs {aliases}"


def draw_and_check(draw: Callable[..., Any], family: str, *, whole: bool = False) -> None:
    """Check a random program. Half of them run with bounds checks; a failure that does not need
    them shrinks to plain code."""
    source = random_program(draw, family)
    options: dict[str, Any] = {"checks": "bounds"} if draw(st.booleans()) else {}
    try:
        check(source, options, whole=whole)
    except Exception as error:
        error.add_note(f"\n# reproduce:\n{source.script(options)}")
        raise


@pytest.mark.parametrize("family", FAMILIES)
@fixed(40)
@given(data=st.data())
def test_random_programs(family: str, data: st.DataObject) -> None:
    draw_and_check(data.draw, family)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@fixed(600)
@given(data=st.data())
def test_many_random_programs(family: str, data: st.DataObject) -> None:
    draw_and_check(data.draw, family)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@fixed(60)
@given(data=st.data())
def test_random_programs_through_dynamo(family: str, data: st.DataObject) -> None:
    draw_and_check(data.draw, family, whole=True)
