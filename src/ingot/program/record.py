"""Stands for containers whose class this process does not have, such as the results of a
transformers model where transformers is not imported. A Record has the fields of the container as
keys and as attributes. With pytrees it is a node of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch.utils import _pytree as pytree

_NO_NAME = pytree.NO_SERIALIZED_TYPE_NAME_FOUND


@dataclass(frozen=True)
class RecordLayout:
    """The pytree context of a Record."""

    class_name: str
    """As `class_name` has it."""
    names: tuple[str, ...]
    """One for each child."""
    rest: tuple[tuple[str, Any], ...]
    """Further fields, with their values."""
    context: Any
    """The pytree context of the class itself."""


class Record(Mapping[str, Any]):
    def __init__(self, children: Sequence[Any], layout: RecordLayout):
        self._layout = layout
        self._children = tuple(children)
        self._fields = {**dict(layout.rest), **dict(zip(layout.names, children, strict=True))}

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_fields"][name]
        except KeyError:
            raise AttributeError(f"{self._layout.class_name} has no field {name!r}") from None

    def __getitem__(self, key: str | int | slice) -> Any:
        """A field by its name, or children by their position."""
        return self._fields[key] if isinstance(key, str) else self._children[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._layout.names)

    def __len__(self) -> int:
        return len(self._children)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self._fields.items())
        return f"{self._layout.class_name.rpartition('.')[2]}({inside})"

    def __reduce__(self) -> Any:
        return Record, (self._children, self._layout)

    def to_tuple(self) -> tuple[Any, ...]:
        return self._children


def full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def class_name(kind: type) -> str | None:
    """The name under which a class is registered with torch's pytrees, its own if it is registered
    without one; None if it is not registered."""
    known = pytree.SUPPORTED_SERIALIZED_TYPES.get(kind)
    if known is None:
        return None
    name = known.serialized_type_name
    return name if name != _NO_NAME else full_name(kind)


def known_class(name: str) -> Any:
    """The registered class of this name, or None."""
    kinds = pytree.SUPPORTED_SERIALIZED_TYPES
    return next((kind for kind in kinds if class_name(kind) == name), None)


def _flatten(record: Record) -> tuple[list[Any], RecordLayout]:
    return list(record._children), record._layout


def _flatten_with_keys(record: Record) -> tuple[list[tuple[Any, Any]], RecordLayout]:
    layout = record._layout
    keys = map(pytree.GetAttrKey, layout.names)
    return list(zip(keys, record._children)), layout


def _unflatten(children: Any, layout: RecordLayout) -> Record:
    return Record(list(children), layout)


pytree.register_pytree_node(
    Record, _flatten, _unflatten, flatten_with_keys_fn=_flatten_with_keys,
    serialized_type_name="ingot.Record",
)  # fmt: skip
