"""The native call that a launch with size-dependent attributes expands to once sizes are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class NativeCall:
    """A function and its arguments: numbers, or names of the launch's pointers with offsets."""

    function: int
    share: int
    """The function that computes the calling thread's share."""
    words: tuple[int | tuple[str, int], ...]
    held: Any = None
    """Objects to keep alive as long as it may run."""
    held_bytes: int = 0
