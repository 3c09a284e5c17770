"""Traces programs for tests without Dynamo: a function goes through AOTAutograd with ingot's
decomposition table, as in the compiler, and the graphs are recorded. PyTorch runs the graphs for
`results`, so that only the decompositions are compared with eager.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from functorch.compile import default_partition, make_boxed_func
from torch import Tensor
from torch._functorch.aot_autograd import aot_function
from torch.fx import GraphModule

from ingot.passes.base import run_passes
from ingot.passes.decompose import decomposition_table
from ingot.passes.native import core_passes
from ingot.program.program import Program, program_from_fx


@dataclass
class Traced:
    results: list[Any] = field(default_factory=list)
    graphs: list[GraphModule] = field(default_factory=list)
    """The forward graph, and the backward graph if there is one."""

    def program(self) -> Program:
        return program_from_fx(self.graphs[0])

    def core(self) -> Program:
        return run_passes(self.program(), core_passes(), verify=True)

    def ops(self) -> set[str]:
        """The names of the ATen ops in all graphs."""
        return {
            node.target._schema.name.removeprefix("aten::")
            for graph in self.graphs
            for node in graph.graph.nodes
            if isinstance(node.target, torch._ops.OpOverload)
        }


def as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple | list) else [value]


def trace(function: Callable[..., Any], *args: Any, dynamic: bool = False) -> Traced:
    """Trace and call once, without gradients."""
    traced = Traced()
    compiled = aot_function(
        function,
        fw_compiler=_keeper(traced),
        decompositions=decomposition_table(),
        keep_inference_input_mutations=True,
        dynamic=dynamic,
    )
    with torch.no_grad():
        traced.results = as_list(compiled(*args))
    return traced


def trace_training(function: Callable[..., Tensor], *args: Tensor) -> Traced:
    """Trace, call, and run backward from a fixed weighted sum. The results are the output and the
    gradients of all arguments that require one."""
    traced = Traced()
    keep = _keeper(traced)
    compiled = aot_function(
        function,
        fw_compiler=keep,
        bw_compiler=keep,
        partition_fn=default_partition,
        decompositions=decomposition_table(),
    )
    traced.results = with_gradients(compiled, *args)
    return traced


def with_gradients(function: Callable[..., Tensor], *args: Tensor) -> list[Tensor]:
    own = [arg.detach().clone().requires_grad_(arg.requires_grad) for arg in args]
    out = function(*own)
    grad = torch.linspace(-1, 2, out.numel(), dtype=torch.float32).reshape(out.shape).to(out.dtype)
    leaves = [arg for arg in own if arg.requires_grad]
    return [out.detach(), *torch.autograd.grad(out, leaves, grad)]


def _keeper(traced: Traced) -> Any:
    def keep(graph: GraphModule, inputs: Any) -> Callable[..., Any]:
        traced.graphs.append(graph)
        return make_boxed_func(graph.forward)

    return keep


# Relative to the largest value, a few ulps.
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-6, torch.bfloat16: 4e-3, torch.float16: 5e-4}


def assert_no_farther(got: Tensor, eager: Tensor, truth: Tensor, summand: float = 0.0) -> None:
    """`got` is as close to the f64 truth as eager, up to a few ulps of the largest value or of a
    `summand` that cancels."""
    assert got.dtype == eager.dtype
    assert got.shape == eager.shape
    if not got.dtype.is_floating_point:
        assert torch.equal(got, eager)
        return
    assert torch.equal(got.isnan(), eager.isnan())
    wide, exact = got.double(), truth.double()
    scale = exact.nan_to_num(posinf=0, neginf=0).abs()
    largest = max(float(scale.max()) if scale.numel() else 0.0, summand)
    slack = TOLERANCE[got.dtype] * (scale + largest) + 1e-30
    far = _distance(wide, exact) > 2 * _distance(eager.double(), exact) + slack
    assert not far.any(), f"got {got[far][:3]}, eager {eager[far][:3]}, truth {truth[far][:3]}"


def _distance(a: Tensor, b: Tensor) -> Tensor:
    equal = (a == b) | (a.isnan() & b.isnan())
    return torch.where(equal, 0.0, (a - b).abs().nan_to_num(nan=float("inf")))
