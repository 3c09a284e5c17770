"""Maps nodes, as AOTAutograd and the passes left them, to the user's program: the ATen operations
that the user called, module paths with the numbers of repeated layers as ranges, and source lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import torch
from torch import fx

from ingot.errors import Place
from ingot.program.source import node_place

_VARIANTS = (
    (re.compile(r"_?native_((?:layer|batch|group)_norm)(?:_legit\w*?)?(_backward)?"), r"\1\2"),
    (
        re.compile(r"_scaled_dot_product_\w*attention\w*?(_backward)?"),
        r"scaled_dot_product_attention\1",
    ),
    (re.compile(r"(\w+)_with_indices(_backward)?"), r"\1\2"),
)
"""Names of an operation's internal variants, and its public name."""
_ROOT = re.compile(r"^[LG]\['\w+'\](?:\.__closure__\[\d+\]\.cell_contents)?\.?")


def op_name(target: Any) -> str:
    """`aten.add.Tensor` as `add`; a custom op with its namespace."""
    if isinstance(target, torch._ops.OpOverload):
        namespace, name = target._schema.name.split("::")
    elif isinstance(target, torch._ops.OpOverloadPacket):
        namespace, _, name = target._qualified_op_name.partition("::")
    else:
        return str(getattr(target, "__name__", target))
    for pattern, known in _VARIANTS:
        if match := pattern.fullmatch(name):
            name = match.expand(known)
    return name if namespace in ("aten", "prims") else f"{namespace}::{name}"


def user_op(node: fx.Node) -> str:
    """The operation that the user called; the node may be part of its decomposition."""
    return op_name(node.meta.get("original_aten") or node.target)


def user_ops(nodes: Iterable[fx.Node]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(user_op(node) for node in nodes))


def places_of(nodes: Iterable[fx.Node]) -> tuple[Place, ...]:
    places = (node_place(node) for node in nodes)
    return tuple(dict.fromkeys(place for place in places if place is not None))


def module_path(node: fx.Node) -> str:
    """The path of the innermost module, `""` outside of all modules."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    if not stack:
        return ""
    path = str(list(stack.values())[-1][0])
    return re.sub(r"\[['\"]?(\w+)['\"]?\]", r".\1", _ROOT.sub("", path))


def module_paths(nodes: Iterable[fx.Node]) -> tuple[str, ...]:
    """The modules of the nodes, without those that only contain another."""
    paths = list(dict.fromkeys(path for node in nodes if (path := module_path(node))))
    return tuple(p for p in paths if not any(q.startswith(p + ".") for q in paths))


def ranges_of(paths: Iterable[str]) -> tuple[str, ...]:
    """Merge paths that differ in numbers only: `layer.0.fc`, `layer.1.fc` to `layer.0–1.fc`."""
    groups: dict[tuple[str, ...], list[list[str]]] = {}
    for path in paths:
        parts = path.split(".")
        key = tuple("#" if part.isdigit() else part for part in parts)
        groups.setdefault(key, []).append(parts)
    return tuple(".".join(_merged(column) for column in zip(*group)) for group in groups.values())


def _merged(parts: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(parts))
    if len(distinct) == 1:
        return distinct[0]
    numbers = sorted(map(int, distinct))
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]}–{numbers[-1]}"
    return ",".join(map(str, numbers))
