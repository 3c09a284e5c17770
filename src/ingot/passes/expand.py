"""Decompose single ops by a table, without retracing the rest of the graph. Each op is traced once
per combination of dtypes, sizes and other arguments, and the resulting graph is copied to every
occurrence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from ingot.passes.base import Pass, ProgramDraft
from ingot.passes.inline import inlined, replace_call
from ingot.program.graph import fake_mode

Decompositions = Mapping[Any, Callable[..., Any]]


APPLIES: dict[Callable[..., Any], Callable[[Node], bool]] = {}
"""Decompositions that apply to some operands only, with a predicate that needs no trace."""


def known_size(x: torch.Tensor, dim: int) -> int | None:
    """The size, or None if it is symbolic."""
    size = x.shape[dim]
    return size if isinstance(size, int) else None


def _always(node: Node) -> bool:
    return True


@dataclass(frozen=True)
class Expand(Pass):
    name: ClassVar[str] = "expand"
    table: Decompositions = field(default_factory=dict, repr=False)
    label: str = "expand"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        traced: dict[Any, GraphModule | None] = {}
        counts: dict[str, int] = {}
        mode = fake_mode(draft.graph)
        for node in list(draft.graph.nodes):
            if node.op != "call_function" or node.target not in self.table:
                continue
            if not APPLIES.get(self.table[node.target], _always)(node):
                continue
            inputs, key = inputs_and_key(node)
            if key not in traced:
                traced[key] = _trace(node, inputs, self.table, mode)
            inner = traced[key]
            if inner is None:
                continue
            replace_call(draft, node, inlined(draft, node, inner, inputs))
            counts[str(node.target)] = counts.get(str(node.target), 0) + 1
        draft.graph.eliminate_dead_code()
        return [f"{name}: {count}" for name, count in sorted(counts.items())]


def inputs_and_key(node: Node) -> tuple[list[Node], Any]:
    """The nodes an op reads, and a key of everything its decomposition can depend on."""
    leaves, spec = pytree.tree_flatten((node.args, node.kwargs))
    inputs: list[Node] = []
    for leaf in leaves:
        if isinstance(leaf, Node) and leaf not in inputs:
            inputs.append(leaf)
    parts = [
        (inputs.index(leaf), _value_key(leaf.meta["val"])) if isinstance(leaf, Node) else repr(leaf)
        for leaf in leaves
    ]
    return inputs, (node.target, str(spec), tuple(parts))


def _value_key(val: Any) -> Any:
    if isinstance(val, torch.Tensor):
        numbers = (*val.shape, *(val.stride() if val.layout is torch.strided else ()))
        return (val.dtype, val.dim(), tuple(_number_key(n) for n in numbers))
    return _number_key(val)


def _number_key(number: Any) -> Any:
    symbolic = isinstance(number, torch.SymInt | torch.SymFloat | torch.SymBool)
    return str(number.node.expr) if symbolic else number


def _plain(value: Any, known: Mapping[Node, Any]) -> Any:
    """Substitutes values for nodes, in fresh lists that a decomposition may mutate."""
    if isinstance(value, Node):
        return known[value]
    if isinstance(value, dict):
        return {key: _plain(item, known) for key, item in value.items()}
    if isinstance(value, tuple | list):
        kind = tuple if isinstance(value, tuple) else list
        return kind(_plain(item, known) for item in value)
    return value


class _Declined(Exception):
    """The decomposition returned NotImplemented; raised inside a trace."""


def _trace(node: Node, inputs: list[Node], table: Decompositions, mode: Any) -> GraphModule | None:
    """None if the decomposition declines by NotImplemented, as in PyTorch's own tables."""

    def apply(*values: Any) -> Any:
        known = dict(zip(inputs, values))
        args, kwargs = _plain((tuple(node.args), dict(node.kwargs)), known)
        result = table[node.target](*args, **kwargs)
        if result is NotImplemented:
            raise _Declined
        return tuple(result) if isinstance(result, tuple) else result  # a named tuple is a call

    # Nodes may share one fake tensor, which the tracer would take for a single input.
    values = [
        val.detach() if isinstance(val := source.meta["val"], torch.Tensor) else val
        for source in inputs
    ]
    functional = torch.func.functionalize(apply, remove="mutations")
    try:
        with torch.no_grad(), enable_python_dispatcher(), mode:
            traced = make_fx(functional, decomposition_table=dict(table))(*values)
    except _Declined:
        return None
    _drop_writes(traced)
    return traced


def _drop_writes(traced: GraphModule) -> None:
    """Remove in-place writes: a functional op writes to none of its inputs, whatever its
    decomposition does internally."""
    for inner in list(traced.graph.nodes):
        if inner.target is torch.ops.aten.copy_.default:
            traced.graph.erase_node(inner)
    traced.graph.eliminate_dead_code()
