"""The structure of arguments and results as JSON. Python's own containers are written by kind. Any
other class is written as the name under which it is registered with torch's pytrees; the process
that loads the file must have registered it, since nothing is imported.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Sequence
from typing import Any

from torch.utils import _pytree as pytree

from ingot.artifact.arguments import ValueReader, ValueWriter
from ingot.capture.structures import Outline, register_structures
from ingot.document import Part, shown
from ingot.errors import SaveError

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
            return {"kind": "namedtuple", "class": _registered_name(context)}
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
    known = pytree.SUPPORTED_SERIALIZED_TYPES.get(kind)
    if known is None or not isinstance(known.serialized_type_name, str):
        raise SaveError(f"{kind} is not registered under a name")
    if pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE.get(known.serialized_type_name) is not kind:
        raise SaveError(f"the name of {kind} is not registered", hints=_register(str(kind)))
    return known.serialized_type_name


def _register(name: str) -> list[str]:
    return [
        f"import the module that registers {name}",
        "or torch.utils._pytree.register_pytree_node(kind, …, serialized_type_name=name)",
    ]


class TreeReader:
    def __init__(self, values: ValueReader):
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
            return namedtuple, self._namedtuple(part.fields("kind", "children", "class"), count)
        if kind == "class":
            fields = part.fields("kind", "children", "class", "context")
            return self._class(fields["class"]), self._context(fields["context"])
        part.fail(f"unknown kind of container {shown(kind)}")

    def _keys(self, part: Part, count: int) -> list[Any]:
        keys = [self._values.constant(key) for key in part.items(count)]
        if not all(isinstance(key, str | int | float | None) for key in keys):
            part.fail("a key is neither text nor a number")
        if len(set(keys)) != count:
            part.fail("a key occurs twice")
        return keys

    def _namedtuple(self, fields: dict[str, Part], count: int) -> Any:
        kind = self._class(fields["class"])
        if not pytree.is_namedtuple_class(kind) or len(kind._fields) != count:
            fields["class"].fail(f"{kind.__name__} is not a namedtuple of {count} fields")
        return kind

    def _class(self, part: Part) -> Any:
        name = part.line(1000)
        kind = pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE.get(name)
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
