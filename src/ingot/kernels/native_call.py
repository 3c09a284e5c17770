"""The native call that a launch with size-dependent attributes expands to once sizes are known."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Code:
    """The address of a compiled function."""

    address: int


@dataclass(frozen=True, eq=False)
class Lookup:
    """The address of a table that the call reads; it lives as long as this object."""

    items: array[int]

    @property
    def address(self) -> int:
        return self.items.buffer_info()[0]


CallWord = int | tuple[str, int] | Code | Lookup
"""A number, one of the launch's pointers with an offset in bytes, or an address."""


@dataclass(frozen=True)
class NativeCall:
    """A function and its arguments."""

    function: int
    share: int
    """The function that computes the calling thread's share."""
    words: tuple[CallWord, ...]
    held: Any = None
    """An object to keep alive as long as it may run."""

    @property
    def lookups(self) -> list[Lookup]:
        return [word for word in self.words if isinstance(word, Lookup)]

    @property
    def held_bytes(self) -> int:
        """Bytes of the tables."""
        return sum(len(each.items) * each.items.itemsize for each in self.lookups)
