"""The structure of arguments and results as JSON. Python's own containers are written by kind. Any
other class is written as the name under which it is registered with torch's pytrees. Nothing is
imported: where the process that loads the file has not registered the class, a Record or a
namedtuple with the same fields stands for it.
"""

from __future__ import annotations

import re
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Sequence
from typing import Any

from torch.utils import _pytree as pytree

from ingot.artifact.arguments import ArgumentReader, ValueWriter
from ingot.capture.structures import Outline, register_structures
from ingot.document import Part, shown
from ingot.errors import SaveError
from ingot.program.record import Record, RecordLayout, class_name, full_name, known_class

MOST_DEPTH = 64
_PLAIN: dict[str, type] = {"tuple": tuple, "list": list}
_DICTS: dict[str, type] = {"dict": dict, "OrderedDict": OrderedDict}
_FACTORIES: dict[str, Any] = {
    "none": None, "list": list, "dict": dict, "int": int, "float": float, "str": str, "set": set,
    "tuple": tuple, "bool": bool,
}  # fmt: skip
_NAMES = {kind: name for name, kind in (_PLAIN | _DICTS).items()}
_FACTORY_NAMES = {kind: name for name, kind in _FACTORIES.items()}
LEAF = "*"
_CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_<][\w>]*)*", re.ASCII)
"""A qualified name, with `<locals>`."""


class TreeWriter:
    def __init__(self, values: ValueWriter):
        self._values = values

    def encode(self, spec: pytree.TreeSpec) -> Any:
        if spec.is_leaf():
            return LEAF
        children = [self.encode(child) for child in spec.children()]
        return {**self._node(spec.type, spec.context), "children": children}

    def _node(self, kind: Any, context: Any) -> dict[str, Any]:
        if kind in _PLAIN.values():
            return {"kind": _NAMES[kind]}
        if kind in _DICTS.values():
            return {"kind": _NAMES[kind], "keys": self._context(list(context))}
        if kind is defaultdict:
            factory, keys = context
            if factory not in _FACTORY_NAMES:
                raise SaveError(f"a defaultdict of {factory} cannot be saved")
            keys = self._context(list(keys))
            return {"kind": "defaultdict", "keys": keys, "factory": _FACTORY_NAMES[factory]}
        if kind is deque:
            return {"kind": "deque", "maxlen": context}
        if kind is namedtuple:
            fields = list(context._fields)
            return {"kind": "namedtuple", "class": full_name(context), "fields": fields}
        return {"kind": "class", "class": _registered_name(kind), "context": self._context(context)}

    def _context(self, context: Any) -> Any:
        """The data that a class keeps besides its children."""
        if isinstance(context, Outline):
            return {
                "outline": self._context([list(context.names), [list(p) for p in context.rest]])
            }
        if isinstance(context, type):
            return {"class": _registered_name(context)}
        if isinstance(context, list):
            return [self._context(item) for item in context]
        if isinstance(context, tuple):
            return {"tuple": [self._context(item) for item in context]}
        return self._values.encode(context)


def _registered_name(kind: Any) -> str:
    name = class_name(kind)
    if name is None:
        raise SaveError(f"{kind} is not registered with torch's pytrees")
    return name


def _fields_of(context: Any) -> tuple[list[str] | None, list[tuple[str, Any]]]:
    """The names of the children, and further fields with their values, in the forms of context that
    transformers, torch.export.register_dataclass and ingot use; no names for other contexts."""
    if isinstance(context, Outline):
        return list(context.names), list(context.rest)
    match context:
        case [list() as names, list() as empty] if _are_names([*names, *empty]):
            return names, [(name, None) for name in empty]
        case list() if _are_names(context):
            return context, []
    return None, []


def _are_names(values: list[Any]) -> bool:
    return all(isinstance(value, str) and value.isidentifier() for value in values)


def _register(name: str) -> list[str]:
    return [
        f"import the module that registers {name}",
        "or torch.utils._pytree.register_pytree_node(kind, …, serialized_type_name=name)",
    ]


class TreeReader:
    def __init__(self, values: ArgumentReader):
        self._values = values
        register_structures(None)  # the caches of transformers, if it is in use

    def decode(self, part: Part, depth: int = 0) -> pytree.TreeSpec:
        if part.value == LEAF:
            return pytree.treespec_leaf()
        if depth > MOST_DEPTH:
            part.fail("nested too deeply")
        given = part.entries()
        if "kind" not in given or "children" not in given:
            part.fail(f"expected {LEAF!r}, or an object with 'kind' and 'children'")
        children = [self.decode(child, depth + 1) for child in given["children"].items()]
        kind, context = self._node(part, given["kind"].text(), len(children))
        return pytree.TreeSpec(kind, context, children)

    def _node(self, part: Part, kind: str, count: int) -> tuple[Any, Any]:
        if kind in _PLAIN:
            part.fields("kind", "children")
            return _PLAIN[kind], None
        if kind in _DICTS:
            return _DICTS[kind], self._keys(part.fields("kind", "children", "keys")["keys"], count)
        if kind == "defaultdict":
            fields = part.fields("kind", "children", "keys", "factory")
            factory = fields["factory"].choice(_FACTORIES, "factory")
            return defaultdict, [factory, self._keys(fields["keys"], count)]
        if kind == "deque":
            most = part.fields("kind", "children", "maxlen")["maxlen"]
            return deque, None if most.value is None else most.integer(count)
        if kind == "namedtuple":
            fields = part.fields("kind", "children", "class", "fields")
            return namedtuple, self._namedtuple(fields, count)
        if kind == "class":
            return self._registered(part.fields("kind", "children", "class", "context"), count)
        part.fail(f"unknown kind of container {shown(kind)}")

    def _keys(self, part: Part, count: int) -> list[Any]:
        keys = [self._values.constant(key) for key in part.items(count)]
        if not all(isinstance(key, str | int | float | None) for key in keys):
            part.fail("a key is neither text nor a number")
        if len(set(keys)) != count:
            part.fail("a key occurs twice")
        return keys

    def _namedtuple(self, given: dict[str, Part], count: int) -> Any:
        name = given["class"].line(1000)
        names = tuple(field.name() for field in given["fields"].items(count))
        known = known_class(name)
        if known is not None and getattr(known, "_fields", None) == names:
            return known
        module, _, short = name.rpartition(".")
        try:
            made = namedtuple(short, names)  # type: ignore[misc]
        except ValueError as error:
            given["class"].fail(f"not a namedtuple: {error}")
        made.__module__ = module
        return made

    def _registered(self, given: dict[str, Part], count: int) -> tuple[Any, Any]:
        context = self._context(given["context"])
        name = given["class"].line(1000)
        kind = known_class(name)
        if kind is None:
            if not _CLASS.fullmatch(name):
                given["class"].fail(f"{shown(name)} is not the name of a class")
            return Record, self._layout(given["class"], context, count)
        return self._class(given["class"]), context

    def _layout(self, part: Part, context: Any, count: int) -> RecordLayout:
        names, rest = _fields_of(context)
        if names is None:
            names = [f"field_{i}" for i in range(count)]
        if len(names) != count or len({*names, *dict(rest)}) != count + len(rest):
            part.fail(f"{count} children, and fields {', '.join(names)}")
        return RecordLayout(part.text(), tuple(names), tuple(rest), context)

    def _class(self, part: Part) -> Any:
        name = part.line(1000)
        kind = known_class(name)
        if kind is None or kind in _NAMES or kind in (defaultdict, deque, namedtuple):
            part.fail(f"no class {shown(name)} is registered with torch's pytrees",
                      hints=_register(shown(name)))  # fmt: skip
        return kind

    def _context(self, part: Part) -> Any:
        value = part.value
        if isinstance(value, list):
            return [self._context(item) for item in part.items()]
        if isinstance(value, dict) and set(value) == {"tuple"}:
            return tuple(self._context(item) for item in part.fields("tuple")["tuple"].items())
        if isinstance(value, dict) and set(value) == {"class"}:
            return self._class(part.fields("class")["class"])
        if isinstance(value, dict) and set(value) == {"outline"}:
            names, rest = part.fields("outline")["outline"].items(2)
            return Outline(
                tuple(name.name() for name in names.items()), tuple(self._pairs(rest.items()))
            )
        return self._values.constant(part)

    def _pairs(self, rows: Sequence[Part]) -> list[tuple[str, Any]]:
        pairs = [row.items(2) for row in rows]
        return [(name.name(), self._context(value)) for name, value in pairs]
