"""Random programs with control flow, dynamic sizes, convolution, attention, LSTM and training
through torch.compile: each plan verifies, interprets to eager's numbers, and runs natively to the
same."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from ingot import pipeline
from ingot.options import Options
from ingot.plan.interpret import interpret
from ingot.plan.ir import Plan
from ingot.plan.resources import Resources
from ingot.plan.verify import verify
from ingot.runtime.glue import Runner
from tests.fuzz.test_programs import fixed
from tests.ops.harness import copy_tensor
from tests.plan.random_modules import KINDS, Case

NEAR = {"rtol": 1e-3, "atol": 2e-4}
"""Chains of f32 matmuls and loops, on values around 1."""


@contextmanager
def both_ways() -> Iterator[list[Plan]]:
    """Every call of a compiled graph is interpreted as well, and the results are compared."""
    real = pipeline.emit
    plans: list[Plan] = []

    def emit(plan: Plan, resources: Resources, options: Options) -> Runner:
        verify(plan)
        plans.append(plan)
        runner = real(plan, resources, options)

        def run(inputs: list[Any]) -> Sequence[Any]:
            copies = [copy_tensor(x) if isinstance(x, Tensor) else x for x in inputs]
            given, state = list(inputs), torch.get_rng_state()
            wanted = interpret(plan, resources, copies)
            torch.set_rng_state(state)
            results = runner.run(inputs)
            assert_same([*results, *given], [*wanted, *copies])
            return results

        return replace(runner, run=run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "emit", emit)
        yield plans


def assert_same(results: Sequence[Any], wanted: Sequence[Any]) -> None:
    for one, other in zip(results, wanted, strict=True):
        if isinstance(other, Tensor):
            torch.testing.assert_close(one, other.view(other.shape), equal_nan=True, **NEAR)
        else:
            assert one == other


def outcome(case: Case, program: Any, args: tuple[Tensor, ...]) -> list[Tensor]:
    """The result, and with `grad` the gradients and the buffers of the module."""
    given = [x.clone().requires_grad_(case.grad) for x in args]
    with torch.set_grad_enabled(case.grad):
        result = program(*given)
    if not case.grad:
        return [result]
    owned = [*case.program.parameters()] if isinstance(case.program, nn.Module) else []
    gradients = torch.autograd.grad(result.sin().sum(), [*given, *owned])
    held = [*case.program.buffers()] if isinstance(case.program, nn.Module) else []
    return [result.detach(), *gradients, *(each.clone() for each in held)]


def check(case: Case) -> int:
    """The number of plans."""
    torch._dynamo.reset()
    options = {"strict": True}
    state = copy.deepcopy(case.program.state_dict()) if isinstance(case.program, nn.Module) else {}
    with both_ways() as plans, torch._dynamo.config.patch(allow_rnn=True):
        compiled = torch.compile(
            case.program, backend="ingot", options=options, dynamic=case.dynamic, fullgraph=True
        )
        for args in case.calls:
            results = outcome(case, compiled, args)
            if isinstance(case.program, nn.Module):
                case.program.load_state_dict(state)
            assert_same(results, outcome(case, case.program, args))
            if isinstance(case.program, nn.Module):
                case.program.load_state_dict(state)
    return len(plans)


def check_and_show(draw: Any, kind: str) -> None:
    torch.manual_seed(0)
    case = KINDS[kind](draw)
    try:
        assert check(case) > case.grad, "a graph did not become a plan"
    except Exception as error:
        error.add_note(f"{kind}: {case.text}")
        raise


@pytest.mark.parametrize("kind", KINDS)
@fixed(5)
@given(data=st.data())
def test_plans_compute_what_eager_does(kind: str, data: st.DataObject) -> None:
    check_and_show(data.draw, kind)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS)
@fixed(60)
@given(data=st.data())
def test_many_plans_compute_what_eager_does(kind: str, data: st.DataObject) -> None:
    check_and_show(data.draw, kind)
