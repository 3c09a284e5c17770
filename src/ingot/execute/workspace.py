"""Memory that a run borrows: the arena and the bases of its tables. What holds: a workspace belongs
to one run at a time; it is kept for the next run of any program, so that in steady state nothing is
allocated and no page is touched for the first time.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from ingot.execute.memory import in_huge_pages

SLACK = 64
"""An arena starts at a multiple of a cache line."""


class Workspace:
    def __init__(self) -> None:
        self._memory = torch.empty(0, dtype=torch.uint8)
        self.arena = 0
        self.bases: Any = (ctypes.c_int64 * 0)()
        self.address = 0

    def fit(self, size: int, bases: int) -> None:
        if self._memory.numel() < size + SLACK:
            self._memory = torch.empty(
                0, dtype=torch.uint8
            )  # the old one goes before the new comes
            self._memory = torch.empty(size + SLACK, dtype=torch.uint8)
            in_huge_pages(self._memory.untyped_storage())
            self.arena = -(-self._memory.data_ptr() // SLACK) * SLACK
        if len(self.bases) < bases:
            self.bases = (ctypes.c_int64 * bases)()
            self.address = ctypes.addressof(self.bases)


_free: list[Workspace] = []


def borrow(size: int, bases: int) -> Workspace:
    try:
        workspace = _free.pop()
    except IndexError:
        workspace = Workspace()
    workspace.fit(size, bases)
    return workspace


def give_back(workspace: Workspace) -> None:
    """Not called where a run fails: that workspace is let go."""
    _free.append(workspace)
