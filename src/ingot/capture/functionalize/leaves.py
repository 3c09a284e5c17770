"""Structures that pass through functionalization: Values, SymbolicNumbers and plain data, alone or
in lists, tuples, dicts and slices. `map_leaves` keeps the structure and replaces the leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node
from torch.utils import _pytree as pytree

from ingot.capture.functionalize.cells import Value


@dataclass(frozen=True, eq=False)
class SymbolicNumber:
    """A symbolic number: the node that computes it, and its value in the tracer."""

    node: Node
    val: Any


def map_leaves(
    value: Any, on_value: Callable[[Value], Any], on_number: Callable[[SymbolicNumber], Any]
) -> Any:
    if isinstance(value, Value):
        return on_value(value)
    if isinstance(value, SymbolicNumber):
        return on_number(value)
    if isinstance(value, list):
        return [map_leaves(item, on_value, on_number) for item in value]
    if isinstance(value, tuple):
        return tuple(map_leaves(item, on_value, on_number) for item in value)
    if isinstance(value, dict):
        return {key: map_leaves(item, on_value, on_number) for key, item in value.items()}
    if isinstance(value, slice):
        parts = map_leaves((value.start, value.stop, value.step), on_value, on_number)
        return slice(*parts)
    return value


def tensors_in(out: Any) -> list[Tensor]:
    return [leaf for leaf in pytree.tree_leaves(out) if isinstance(leaf, Tensor)]


def fresh_copies(known: Any) -> Any:
    return pytree.tree_map_only(Tensor, lambda t: t.detach().clone(), known)


def same_layout(eager: Tensor) -> Tensor:
    """The same layout in memory of its own, so that tracing does not touch eager's tensor."""
    if eager.is_conj() or eager.is_neg() or eager.layout is not torch.strided:
        return eager.detach()
    return torch.empty_strided(eager.shape, eager.stride(), dtype=eager.dtype, device=eager.device)
