"""Invariants of a plan that passes establish one by one. All others hold from the start."""

from __future__ import annotations

from enum import Enum


class Invariant(Enum):
    BUFFERS = "buffers"
    """Eager ops and results use no arena memory."""
    ALLOCATIONS = "allocations"
    """A result exists from its `allocate` on. Before, it exists from the start."""
    ARENA = "arena"
    """Arena memory has a lifetime, and an offset if every size is static."""


FINAL = frozenset(Invariant)
"""What holds in a plan that may run."""
