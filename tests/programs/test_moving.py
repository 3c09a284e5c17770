"""Programs whose shapes vary or depend on values, with many random inputs, some with empty results:
compiled once, equal to eager, and native except for the ops listed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._dynamo.utils import counters

import ingot
from ingot import observe
from ingot.fuse.fused import CallStep
from ingot.stages import Compiled
from tests.plans import native_call_steps

from .moving import Moving, programs

RUNS = 50
PROGRAMS = {moving.name: moving for moving in programs()}


def through_dynamo(moving: Moving, _: Any) -> Callable[..., Any]:
    return torch.compile(moving.function, backend="ingot", fullgraph=True, options={"strict": True})


def ahead(moving: Moving, args: Any) -> Callable[..., Any]:
    return ingot.compile(
        moving.function, args, dynamic_shapes=moving.dynamic_shapes, options={"strict": True}
    )


def eager_step_names(compiled: Compiled) -> set[str]:
    """Names of the ops that run in PyTorch and of eager control flow."""
    own = native_call_steps(compiled)
    calls = [s.node for s in compiled.fused.steps if isinstance(s, CallStep) and s not in own]
    targets = [n.target for n in calls if not _is_number(n) and "view" not in _kind(compiled, n)]
    return {str(t).removeprefix("aten.").split(".")[0] for t in targets}


def _kind(compiled: Compiled, node: torch.fx.Node) -> str:
    kinds = {s.node: s.kind for s in compiled.fused.steps if isinstance(s, CallStep)}
    return kinds[node]


def _is_number(node: torch.fx.Node) -> bool:
    return not isinstance(node.meta.get("val"), torch.Tensor | list | tuple)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_accesses_stay_inside(name: str) -> None:
    """Values alone do not reveal an out-of-bounds read: it mostly hits mapped memory, and the value
    read is mostly unused."""
    moving = PROGRAMS[name]
    generator = torch.Generator().manual_seed(5)
    inputs = [moving.inputs(generator) for _ in range(5)]
    options = {"strict": True, "checks": "bounds"}
    with torch.no_grad():
        compiled = ingot.compile(
            moving.function, inputs[0], dynamic_shapes=moving.dynamic_shapes, options=options
        )
        for args in inputs:
            got, want = compiled(*args), moving.function(*args)
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("entry_point", [through_dynamo, ahead], ids=["torch.compile", "ahead"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_eager(name: str, entry_point: Callable[..., Any]) -> None:
    moving = PROGRAMS[name]
    generator = torch.Generator().manual_seed(11)
    inputs = [moving.inputs(generator) for _ in range(RUNS)]
    heard: list[Compiled] = []
    counters.clear()
    with torch.no_grad(), observe.listening(heard.append):
        compiled = entry_point(moving, inputs[0])
        for args in inputs:
            got, want = compiled(*args), moving.function(*args)
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
    assert len(heard) == (1 if entry_point is ahead else moving.graphs)
    assert eager_step_names(heard[-1]) <= moving.host, eager_step_names(heard[-1]) - moving.host
