"""Functions that a room calls and a higher one implements: the methods of Program that emit, save
or lower it, and the compiler itself, which dispatch runs to measure candidates.
The package `ingot`, above all rooms, names the function behind each; its module is imported when it
is first called. So no room imports a higher one, and a type checker still sees every method.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

_homes: dict[str, str] = {}
_loaded: dict[str, Callable[..., Any]] = {}


def register(homes: Mapping[str, str]) -> None:
    """`homes`: for each name the function behind it, as "module:function"."""
    for name, home in homes.items():
        if name in _homes:
            raise ValueError(f"{name} is registered already, as {_homes[name]}")
        _homes[name] = home


def extension(name: str) -> Callable[..., Any]:
    """The function behind a name. That of a method takes the program first."""
    found = _loaded.get(name)
    if found is None:
        if name not in _homes:
            known = ", ".join(sorted(_homes))
            raise LookupError(f"nothing implements {name}; implemented are: {known}")
        module, _, function = _homes[name].partition(":")
        found = _loaded[name] = getattr(importlib.import_module(module), function)
    return found


def registered() -> dict[str, str]:
    return dict(_homes)
