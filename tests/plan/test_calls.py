"""The calls that a launch computes, from FX nodes."""

from __future__ import annotations

import torch
from torch import fx

from ingot.plan.calls import ComputationBuilder
from ingot.plan.ir import Computation, Operand, Ref
from ingot.plan.resources import Resources

aten = torch.ops.aten
RESULT = Operand("result", 0, torch.float32, (2,), (1,))


def computation(outputs: list[fx.Node], members: list[fx.Node]) -> Computation:
    """Everything but the members is a value of eager."""

    def eager(node: fx.Node) -> str:
        return node.name

    builder = ComputationBuilder(members, lambda node: None, eager, Resources())
    return builder.built([(node, RESULT) for node in outputs])


def test_a_chain_of_ops_deeper_than_the_stack() -> None:
    """Below PyTorch's own frames, even a recurrence of 150 steps was too deep."""
    graph, count = fx.Graph(), 5000
    x = last = graph.placeholder("x")
    chain = [last := graph.call_function(aten.add.Tensor, (last, x)) for _ in range(count)]
    calls = computation([last], chain).calls
    assert [call.result for call in calls] == [f"v{k}" for k in reversed(range(count))]
    values = [Ref(f"v{count}"), *(Ref(call.result) for call in calls)]
    assert [call.args for call in calls] == [(value, values[0]) for value in values[:-1]]


def test_values_are_numbered_in_the_order_in_which_they_are_met() -> None:
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    shared = graph.call_function(aten.sin.default, (y,))
    left = graph.call_function(aten.add.Tensor, (x, shared))
    top = graph.call_function(aten.mul.Tensor, (left, shared))
    found = computation([top, left], [shared, left, top])
    calls = [(call.result, *(ref.name for ref in call.args)) for call in found.calls]
    assert calls == [("v3", "v4"), ("v1", "v2", "v3"), ("v0", "v1", "v3")]
    assert found.inputs == (("v2", Ref("x")), ("v4", Ref("y")))
    assert found.outputs == (("v0", RESULT), ("v1", RESULT))
