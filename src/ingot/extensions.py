"""Methods of Program that other modules implement. Program declares the signature of each and calls
it through `extension`; the package `ingot`, which stands above all rooms, names the function behind
it. A module is imported when one of its methods is first called. So program/ imports nothing of the
rooms that build on it, and a type checker still sees every method.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

_homes: dict[str, str] = {}
_loaded: dict[str, Callable[..., Any]] = {}


def register(homes: Mapping[str, str]) -> None:
    """`homes`: for each method the function behind it, as "module:function"."""
    for method, home in homes.items():
        if method in _homes:
            raise ValueError(f"Program.{method} is registered already, as {_homes[method]}")
        _homes[method] = home


def extension(method: str) -> Callable[..., Any]:
    """The function behind a method; it takes the program first."""
    found = _loaded.get(method)
    if found is None:
        if method not in _homes:
            known = ", ".join(sorted(_homes))
            raise LookupError(f"nothing implements Program.{method}; implemented are: {known}")
        module, _, name = _homes[method].partition(":")
        found = _loaded[method] = getattr(importlib.import_module(module), name)
    return found


def registered() -> dict[str, str]:
    return dict(_homes)
