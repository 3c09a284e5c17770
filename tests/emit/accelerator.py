"""A test accelerator: an array machine on top of NumPy that supports a few ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.fx import Node

from ingot.program.graph import output_values, placeholders
from ingot.program.program import Program
from ingot.targets.target import Moved, Runner

aten = torch.ops.aten

OPS: dict[Any, Callable[..., Any]] = {
    aten.add.Tensor: lambda x, y: x + y,
    aten.mul.Tensor: lambda x, y: x * y,
    aten.mm.default: lambda x, y: x @ y,
    aten.addmm.default: lambda b, x, y: b + x @ y,
    aten.relu.default: lambda x: np.maximum(x, 0),
    aten.t.default: lambda x: x.T,
}


class Array:
    """A value in device memory, which the host cannot read."""

    def __init__(self, data: np.ndarray[Any, Any]) -> None:
        self.data = data


class Machine:
    name = "machine"

    def claim(self, node: Node) -> str:
        if node.target not in OPS:
            return f"no instruction for {node.target}"
        return "" if node.meta["val"].dtype == torch.float32 else "float32 only"

    def lower(self, program: Program) -> Runner:
        graph = program.graph

        def run(values: Sequence[Any]) -> list[Any]:
            known = dict(zip(placeholders(graph), (value.data for value in values), strict=True))
            look_up = lambda a: known[a] if isinstance(a, Node) else a  # noqa: E731
            for node in graph.nodes:
                if node.op == "call_function":
                    known[node] = OPS[node.target](*map(look_up, node.args))
            return [Array(known[value]) for value in output_values(graph)]

        return run

    def upload(self, tensor: torch.Tensor) -> Moved:
        return Moved(Array(tensor.detach().numpy().copy()))

    def download(self, value: Array) -> Moved:
        return Moved(torch.from_numpy(value.data.copy()))
