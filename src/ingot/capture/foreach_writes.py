"""In-place `_foreach` ops whose tensors share memory: `torch._foreach_add_([x, y], [y, x])`. Eager
takes one position after the other, so a later one reads what an earlier one wrote.
Functionalization computes all positions from the old values. Such an op becomes one op for each
position.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import fx


def order_foreach_writes(module: fx.GraphModule) -> None:
    for node in list(module.graph.nodes):
        if _writes_lists(node) and not node.users and _depend(node):
            _split(node)
            module.graph.erase_node(node)
    module.recompile()


def _writes_lists(node: fx.Node) -> bool:
    if node.op != "call_function" or not node.args or not isinstance(node.args[0], Sequence):
        return False
    target = node.target
    packet = target.overloadpacket if isinstance(target, torch._ops.OpOverload) else target
    name = getattr(packet, "__name__", "")
    return name.startswith("_foreach_") and name.endswith("_")


def _depend(node: fx.Node) -> bool:
    """Does a position use memory that another one writes?"""
    written: Any = node.args[0]
    writers: dict[int, set[int]] = {}
    for k, each in enumerate(written):
        for memory in _memory([each]):
            writers.setdefault(memory, set()).add(k)
    shared = [x for x in _arguments(node) if isinstance(x, fx.Node)]
    return any(
        writers.get(memory, {k}) != {k}
        for k in range(len(written))
        for memory in _memory([*_at(node, k), *shared])
    )


def _memory(values: Sequence[Any]) -> Iterator[int]:
    """The storages of tensors among the values."""
    for node in values:
        meta = node.meta if isinstance(node, fx.Node) else {}
        value = meta.get("val", meta.get("example_value"))
        if isinstance(value, torch.Tensor) and value.layout is torch.strided:
            yield value.untyped_storage()._cdata


def _arguments(node: fx.Node) -> Iterator[Any]:
    yield from node.args
    yield from node.kwargs.values()


def _is_listed(node: fx.Node, argument: Any) -> bool:
    written: Any = node.args[0]
    return isinstance(argument, Sequence) and len(argument) == len(written)


def _at(node: fx.Node, position: int) -> list[Any]:
    return [x[position] for x in _arguments(node) if _is_listed(node, x)]


def _split(node: fx.Node) -> None:
    written: Any = node.args[0]
    target: Any = node.target
    for k in range(len(written)):

        def one(argument: Any, k: int = k) -> Any:
            return [argument[k]] if _is_listed(node, argument) else argument

        args = tuple(map(one, node.args))
        kwargs = {name: one(value) for name, value in node.kwargs.items()}
        with node.graph.inserting_before(node):
            made = node.graph.call_function(target, args, kwargs)
        made.meta = dict(node.meta)
