"""What code outside of ingot has registered: rules, decompositions, dispatched ops. Compiling
depends on it, and the keys of the cache of compiled programs know ingot's own sources only.
"""

from __future__ import annotations

from functools import partial
from typing import Any

_foreign: dict[str, None] = {}


def note_registration(name: object, function: Any) -> None:
    """Called by every registry, with what is registered and the function that implements it."""
    while isinstance(function, partial):
        function = function.func
    module = getattr(function, "__module__", None) or ""
    if module.partition(".")[0] != "ingot":
        _foreign[str(name)] = None


def foreign_rules() -> tuple[str, ...]:
    """What it was registered for."""
    return tuple(_foreign)
