"""Runs one program in eager and through `ingot.export(level="pre-dispatch")` and compares
everything that can be observed: results, dtypes, strides, aliasing, inputs and state after the
call, gradients, the random generator. The IR is checked by the verifier and independently by
`assert_functional`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from functorch.experimental import control_flow
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

import ingot
from ingot.program.verify import verify
from tests.ops.compare import assert_same_metadata
from tests.programs.check import Outcome, assert_same_value, observed


def check(
    function: Callable[..., Any],
    *args: Any,
    grad: bool = True,
    calls: int = 1,
    exact: bool = True,
    strides: bool = True,
    **options: Any,
) -> ingot.Program:
    """Compare with eager and return the program for further checks."""
    made: list[ingot.Program] = []

    def export(function: Callable[..., Any]) -> ingot.Program:
        made.append(ingot.export(function, args, level="pre-dispatch", **options))
        return made[-1]

    with plain_control_flow():
        want = observed(function, args, grad, calls, lambda f: f)
    got = observed(function, args, grad, calls, export)
    assert_functional(made[-1])
    compare(got, want, exact, strides)
    return made[-1]


@contextmanager
def plain_control_flow() -> Iterator[None]:
    """Runs control flow as plain Python: eager's cond refuses writes when grad is enabled, and
    loses gradients under autocast."""

    def cond(chosen: Any, yes: Any, no: Any, operands: Any = ()) -> Any:
        return yes(*operands) if chosen else no(*operands)

    def while_loop(goes_on: Any, body: Any, carried: Any) -> Any:
        while goes_on(*carried):
            carried = body(*carried)
        return carried

    def over_rows(body: Any, rows: Any, *fixed: Any) -> Any:
        return torch.stack([body(row, *fixed) for row in rows])

    with (
        mock.patch.object(torch, "cond", cond),
        mock.patch.object(torch, "while_loop", while_loop),
        mock.patch.object(control_flow, "map", over_rows),
    ):
        yield


def compare(got: Outcome, want: Outcome, exact: bool = True, strides: bool = True) -> None:
    assert got.spec == want.spec, f"results are {got.spec}, eager's are {want.spec}"
    for label in ("results", "inputs", "state", "gradients"):
        pairs = zip(getattr(got, label), getattr(want, label), strict=True)
        for i, (actual, eager) in enumerate(pairs):
            name = f"{label}[{i}]"
            strict = strides and label != "gradients"
            assert_same_metadata(actual, eager, name, strides=strict)
            # Autograd accumulates in the order in which ops were recorded, which differs from
            # eager's.
            loosen = 1.0 if label == "gradients" else 0.0 if exact else 0.1
            assert_same_value(actual, eager, name, loosen)
    assert got.aliases == want.aliases, f"results share {got.aliases}, eager's {want.aliases}"
    assert torch.equal(got.rng, want.rng), "the generator's state is not eager's"


def all_nodes(module: GraphModule) -> Iterator[Node]:
    """All nodes, including those of nested modules."""
    for inner in module.modules():
        if isinstance(inner, GraphModule):
            yield from inner.graph.nodes


def targets(program: ingot.Program) -> list[str]:
    return [str(n.target) for n in all_nodes(program.graph_module) if n.op == "call_function"]


def assert_functional(program: ingot.Program) -> None:
    verify(program)
    for node in all_nodes(program.graph_module):
        if isinstance(node.target, OpOverload):
            schema = node.target._schema
            assert not schema.is_mutable or not schema.returns, f"{node.target} writes"
        name = getattr(node.target, "__name__", "")
        assert name not in ("_set_grad_enabled", "_enter_autocast", "_exit_autocast"), name
