"""Memory that a run borrows: the arena and the bases of its tables. What holds: a workspace belongs
to one run at a time; it is kept for the next run of any program, so that in steady state nothing is
allocated and no page is touched for the first time.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from ingot.execute.memory import in_huge_pages
from ingot.plan.segment import ARENA

SLACK = 64
"""An arena starts at a multiple of a cache line."""


class Workspace:
    def __init__(self) -> None:
        self._memory = torch.empty(0, dtype=torch.uint8)
        self._bases: Any = None
        self.size, self.count = -1, 0
        """Of the arena, in bytes, and of the bases."""
        self.address = 0
        """Of the bases."""

    def fit(self, size: int, bases: int) -> None:
        if self.size < size:
            # The old one goes before the new comes.
            self._memory = torch.empty(0, dtype=torch.uint8)
            self._memory = torch.empty(size + SLACK, dtype=torch.uint8)
            in_huge_pages(self._memory.untyped_storage())
            self.size = size
        if self.count < bases:
            self._bases = (ctypes.c_int64 * bases)()
            self.address, self.count = ctypes.addressof(self._bases), bases
        self._bases[ARENA] = -(-self._memory.data_ptr() // SLACK) * SLACK


_free: list[Workspace] = []


def borrow(size: int, bases: int) -> Workspace:
    try:
        workspace = _free.pop()
    except IndexError:
        workspace = Workspace()
    if workspace.size < size or workspace.count < bases:
        workspace.fit(size, bases)
    return workspace


def give_back(workspace: Workspace) -> None:
    """Not called where a run fails: that workspace is let go."""
    _free.append(workspace)
