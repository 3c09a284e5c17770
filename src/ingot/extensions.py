"""Late-bound functions that a layer calls and a higher layer implements: the methods of Program
that emit, save or lower it, and the compiler itself, which dispatch runs to measure candidates. The
package `ingot`, above all layers, registers the implementation of each; its module is imported on
the first call. So no layer imports a higher one, and a type checker still sees every method.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

_homes: dict[str, str] = {}
_loaded: dict[str, Callable[..., Any]] = {}


def register(homes: Mapping[str, str]) -> None:
    """`homes` maps each name to the function behind it, as "module:function"."""
    for name, home in homes.items():
        if name in _homes:
            raise ValueError(f"{name} is registered already, as {_homes[name]}")
        _homes[name] = home


def extension(name: str) -> Callable[..., Any]:
    """The function behind a name. A method's function takes the program first."""
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
