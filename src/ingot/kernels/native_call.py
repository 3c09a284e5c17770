"""What a launch whose attributes depend on sizes expands to once they are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class NativeCall:
    """A function and its words: numbers, or names of the step's words with what is added."""

    function: int
    share: int
    """The function that does what is the calling thread's."""
    words: tuple[int | tuple[str, int], ...]
    held: Any = None
    """What has to stay as long as it may run."""
    held_bytes: int = 0
