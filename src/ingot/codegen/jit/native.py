"""Machine code in memory. A module is linked from its object; modules call each other's functions
by symbols that name the other module's key, and keep what they call alive. A module that is linked,
or stored under its key (code_store.py), is found by the key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from weakref import WeakValueDictionary

from ingot.codegen.jit import code_store
from ingot.codegen.jit.code_store import EntryError, Module, read_module, unpacked_source
from ingot.codegen.jit.elf import ObjectError
from ingot.codegen.jit.link import Image
from ingot.linkage import declared, symbol_address

ANCHOR = "ingot_anchor"
"""The one function that a module exports."""
_ANCHORS = (ANCHOR, f"_mlir_{ANCHOR}")
_CALLED = re.compile(r"ingot_([0-9a-f]{32})_(\w+)", re.ASCII)


@dataclass(frozen=True)
class ModuleText:
    """The text that a module was compiled from."""

    declarations: list[str]
    functions: dict[str, str]
    inside: list[str]
    """Further functions in the texts."""

    def text(self) -> str:
        return json.dumps([self.declarations, self.functions, self.inside])

    def names(self) -> list[str]:
        return [*self.functions, *self.inside]


@dataclass(frozen=True, eq=False)
class Native:
    key: str
    module: Module
    addresses: dict[str, int]
    """Function names → addresses, in the C calling convention."""
    image: Image
    """Keeps the code mapped."""
    calls: tuple[Native, ...]
    """The modules whose functions it calls."""

    @property
    def source(self) -> ModuleText:
        return ModuleText(*json.loads(unpacked_source(self.module.source)))

    def symbol(self, function: str) -> str:
        """The name by which another module calls a function of this one."""
        return f"ingot_{self.key}_{function}"

    def declaration(self, function: str, type_: str) -> tuple[str, str]:
        """The symbol of a function, and its declaration in another module."""
        arguments, result = type_.split(" -> ")
        arrow = "" if result == "()" else f" -> {result}"
        symbol = self.symbol(function)
        return symbol, declared(symbol, arguments, arrow)


_owners: WeakValueDictionary[int, Native] = WeakValueDictionary()
"""Function addresses → their modules."""
_linked: WeakValueDictionary[str, Native] = WeakValueDictionary()
"""Modules by key."""


_recorded: ContextVar[dict[str, Native] | None] = ContextVar("ingot_recorded", default=None)


@contextmanager
def recording() -> Iterator[dict[str, Native]]:
    """The modules that are used within, by key."""
    found: dict[str, Native] = {}
    token = _recorded.set(found)
    try:
        yield found
    finally:
        _recorded.reset(token)


def used(native: Native) -> None:
    """Record a module, and those that it calls."""
    found = _recorded.get()
    if found is not None and native.key not in found:
        found[native.key] = native
        for each in native.calls:
            used(each)


def link(key: str, module: Module) -> Native:
    """An ObjectError if the object is damaged, or imports anything but the symbols of linkage.py
    and functions of other modules."""
    called: dict[str, Native] = {}

    def resolve(symbol: str) -> int | None:
        found = called_function(symbol)
        if found is None:
            return symbol_address(symbol)
        native, function = found
        called[native.key] = native
        return native.addresses.get(function)

    image = Image(module.object, resolve)
    addresses = {name: at for name, at in image.addresses.items() if name not in _ANCHORS}
    native = Native(key, module, addresses, image, tuple(called.values()))
    _owners.update(dict.fromkeys(addresses.values(), native))
    _linked[key] = native
    return native


def find(keys: Iterable[str]) -> Native | None:
    """The first module with one of these keys. A damaged entry counts as absent: the module is
    compiled anew."""
    keys = list(keys)
    for key in keys:
        native = _linked.get(key)
        if native is not None:
            return native
    for key, entry in code_store.stored(keys):
        try:
            return link(key, read_module(entry))
        except (EntryError, ObjectError):
            continue
    return None


def find_kernel(keys: Iterable[str], function: str = "") -> Native | None:
    """The module that the first of these keys refers to, such as those of a kernel's text, with the
    function, if one is named."""
    for _, entry in code_store.stored(keys):
        try:
            native = find([code_store.read_reference(entry)])
        except EntryError:
            continue
        if native is not None and (not function or function in native.addresses):
            return native
    return None


def called_function(symbol: str) -> tuple[Native, str] | None:
    """The module and the function that a symbol of another module names."""
    called = _CALLED.fullmatch(symbol)
    native = None if called is None else find([called[1]])
    return None if called is None or native is None else (native, called[2])


def compiled_function(address: int) -> tuple[Native, str] | None:
    """The module of a function and its name there; None if ingot did not compile it."""
    native = _owners.get(address)
    if native is None:
        return None
    return native, next(name for name, each in native.addresses.items() if each == address)
