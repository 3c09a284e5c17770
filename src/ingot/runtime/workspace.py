"""Memory that a run borrows: the arena and the base pointers of its tables. A workspace belongs to
one run at a time and is kept for the next run of any program, so that in steady state nothing is
allocated and no page is touched for the first time. Arenas above LARGE are kept separately: they
shrink when runs need much less for a while, and are released when unused for some seconds.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any

import torch

from ingot.runtime.idle import sweeper
from ingot.runtime.memory import in_huge_pages
from ingot.runtime.table import ARENA

SLACK = 64
"""Alignment of an arena: a cache line."""
LARGE = 1 << 25
"""Bytes. The C library returns blocks of this size and above to the system when they are freed."""
MUCH, PATIENCE = 2, 16
"""A large arena shrinks when PATIENCE runs in a row need less than 1 / MUCH of it."""


class Workspace:
    def __init__(self) -> None:
        self._memory = torch.empty(0, dtype=torch.uint8)
        self._bases: Any = None
        self.size, self.count = -1, 0
        """Size of the arena in bytes, and number of bases."""
        self.address = 0
        """Address of the bases."""
        self.used = 0.0
        """When a large workspace was last given back."""
        self.oversized = 0
        """Consecutive runs that needed far less."""

    def fit(self, size: int, bases: int) -> None:
        if self.size < size:
            self._allocate(size)
        if self.count < bases:
            self._bases = (ctypes.c_int64 * bases)()
            self.address, self.count = ctypes.addressof(self._bases), bases
        self._bases[ARENA] = -(-self._memory.data_ptr() // SLACK) * SLACK

    def shrink(self, size: int) -> None:
        """Shrinks to the size that runs need now."""
        self.oversized = self.oversized + 1 if self.size > MUCH * size else 0
        if self.oversized >= PATIENCE:
            self.oversized = 0
            self._allocate(size)
            self._bases[ARENA] = -(-self._memory.data_ptr() // SLACK) * SLACK

    def _allocate(self, size: int) -> None:
        # Free the old arena before allocating the new one.
        self._memory, self.size = torch.empty(0, dtype=torch.uint8), -1
        self._memory = torch.empty(size + SLACK, dtype=torch.uint8)
        in_huge_pages(self._memory.untyped_storage())
        self.size = size


_free: list[Workspace] = []
_large: list[Workspace] = []


def borrow(size: int, bases: int) -> Workspace:
    """For at most LARGE bytes."""
    try:
        workspace = _free.pop()
    except IndexError:
        workspace = Workspace()
    if workspace.size < size or workspace.count < bases:
        workspace.fit(size, bases)
    return workspace


def give_back(workspace: Workspace) -> None:
    """Not called if a run fails: its workspace is freed."""
    _free.append(workspace)


def borrow_any(size: int, bases: int) -> Workspace:
    """For a size that is known only at run time, or above LARGE."""
    if size <= LARGE:
        return borrow(size, bases)
    try:
        workspace = _large.pop()
    except IndexError:
        workspace = Workspace()
    if workspace.size < size or workspace.count < bases:
        workspace.oversized = 0
        workspace.fit(size, bases)
    else:
        workspace.shrink(size)
    return workspace


def give_back_any(workspace: Workspace) -> None:
    if workspace.size <= LARGE:
        return _free.append(workspace)
    workspace.used = time.monotonic()
    _large.append(workspace)
    sweeper.wake()
    return None


def kept_bytes() -> int:
    """Bytes of arenas that no run uses."""
    return sum(max(0, workspace.size) for workspace in [*_free, *_large])


def _release(before: float) -> bool:
    """Takes each workspace out and puts it back, as a run would: a run never meets one that is
    being freed."""
    kept = []
    while _large:
        try:
            workspace = _large.pop(0)
        except IndexError:
            break
        if workspace.used >= before:
            kept.append(workspace)
    _large[:0] = kept
    return bool(kept)


sweeper.releases.append(_release)
