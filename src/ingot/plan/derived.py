"""Frozen values: nodes that passes marked as computed from weights, with the inputs that they are
computed from and the calls that compute them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from ingot.program.annotations import FROZEN


@dataclass(frozen=True)
class Derived:
    wanted: tuple[fx.Node, ...]
    roots: tuple[fx.Node, ...]
    """The inputs, in the order of the arguments of `values`."""
    steps: tuple[fx.Node, ...]
    """The calls that compute `wanted` from the roots."""

    @property
    def recipe(self) -> str:
        """Equal for equal computations."""
        numbers = {n: f"%{i}" for i, n in enumerate((*self.roots, *self.steps))}
        lines = []
        for node in self.steps:
            args, kwargs = fx.node.map_arg((node.args, node.kwargs), numbers.__getitem__)
            lines.append(f"{node.target}{args}{kwargs}")
        return "; ".join([*lines, *(numbers[node] for node in self.wanted)])

    def values(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        known: dict[fx.Node, Any] = dict(zip(self.roots, tensors, strict=True))
        for node in self.steps:
            args, kwargs = fx.node.map_arg((node.args, node.kwargs), known.__getitem__)
            known[node] = node.target(*args, **kwargs)  # type: ignore[operator]
        return [known[node] for node in self.wanted]


def is_derived(node: fx.Node) -> bool:
    return bool(node.meta.get(FROZEN))


def derived(*wanted: fx.Node) -> Derived:
    """How the values are computed from inputs. An input is its own root."""
    roots: dict[fx.Node, None] = {}
    steps: dict[fx.Node, None] = {}

    def visit(node: fx.Node) -> None:
        if node in roots or node in steps:
            return
        if not is_derived(node):
            roots[node] = None
            return
        for source in node.all_input_nodes:
            visit(source)
        steps[node] = None

    for node in wanted:
        visit(node)
    return Derived(wanted, tuple(roots), tuple(steps))
