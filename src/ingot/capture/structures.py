"""Register the structures that a model takes or returns with PyTorch's pytrees: plain dataclasses
as they are met, and the caches of Hugging Face models. A type that is registered already keeps its
registration.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, is_dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree


def register_structures(value: Any) -> None:
    """Register every dataclass in `value`, and the caches if transformers is in use."""
    _register_caches()
    seen: set[int] = set()
    pending = [value]
    while pending:
        item = pending.pop()
        if id(item) in seen or isinstance(item, torch.Tensor):
            continue
        seen.add(id(item))
        kind = type(item)
        if is_dataclass(kind) and kind not in pytree.SUPPORTED_NODES:
            torch.export.register_dataclass(kind)
        if kind in pytree.SUPPORTED_NODES:
            pending.extend(pytree.SUPPORTED_NODES[kind].flatten_fn(item)[0])


@dataclass(frozen=True)
class Outline:
    """An object without its tensors."""

    names: tuple[str, ...]
    """The attributes that are children of the pytree node."""
    rest: tuple[tuple[str, Any], ...]
    """All other attributes, with their values."""


def _register_caches() -> None:
    module = sys.modules.get("transformers.cache_utils")
    if module is None:
        return
    names = ("Cache", "CacheLayerMixin", "LinearAttentionCacheLayerMixin")
    bases = tuple(getattr(module, name) for name in names if hasattr(module, name))
    kinds: set[type] = set()
    for base in bases:
        kinds.update([base, *_subclasses(base)])
    for kind in kinds.difference(pytree.SUPPORTED_NODES):
        _register_object(kind, bases)


def _subclasses(base: type) -> Iterable[type]:
    kinds: list[type] = base.__subclasses__()
    for kind in kinds:
        yield kind
        yield from _subclasses(kind)


def _register_object(kind: type, nodes: tuple[type, ...]) -> None:
    """Make `kind` a node whose children are its attributes that hold tensors or other nodes."""

    def is_child(value: Any) -> bool:
        if isinstance(value, dict):
            value = [*value.values()]
        if isinstance(value, list | tuple):
            return any(is_child(item) for item in value)
        return isinstance(value, (torch.Tensor, *nodes))

    def outline(item: Any) -> Outline:
        parts = sorted(vars(item).items())
        names = tuple(name for name, value in parts if is_child(value))
        return Outline(names, tuple((n, v) for n, v in parts if not is_child(v)))

    def flatten(item: Any) -> tuple[list[Any], Outline]:
        shape = outline(item)
        return [getattr(item, name) for name in shape.names], shape

    def flatten_with_keys(item: Any) -> tuple[list[tuple[Any, Any]], Outline]:
        shape = outline(item)
        return [(pytree.GetAttrKey(n), getattr(item, n)) for n in shape.names], shape

    def unflatten(children: Iterable[Any], shape: Outline) -> Any:
        made: Any = object.__new__(kind)
        made.__dict__.update(shape.rest)
        made.__dict__.update(zip(shape.names, children))
        return made

    pytree.register_pytree_node(
        kind,
        flatten,
        unflatten,
        serialized_type_name=f"{kind.__module__}.{kind.__qualname__}",
        flatten_with_keys_fn=flatten_with_keys,
    )
