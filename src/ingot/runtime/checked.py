"""Entry of a segment whose generated code checks its accesses (`checks="bounds"`): for each base,
the end of its memory is set as well."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import torch

from ingot.codegen.support.bounds_runtime import run_checked
from ingot.runtime.bounds import SHIFT
from ingot.runtime.launch import Base, SegmentLauncher
from ingot.runtime.memory import extent


class CheckedLaunch(SegmentLauncher):
    """The slow path of Launch, which also sets the ends of the memory behind bases."""

    def __init__(self, bases: Sequence[tuple[int, Base]]):
        super().__init__(bases)
        self.quick = None

    def __call__(self, address: int, table: int, *values: torch.Tensor) -> int:
        count = len(self.weights)
        seen = self._look(values[:count]) if self._uses else None
        ends = (ctypes.c_int64 * self._most()).from_address(address + 8 * SHIFT)
        made = seen.results() if seen is not None else ()
        for number, tensor in zip(self._made, made, strict=True):
            ends[number] = _end(tensor)
        for number, tensor in zip(self._bound, values[count:], strict=True):
            ends[number] = _end(tensor)
        return run_checked(lambda: super(CheckedLaunch, self).__call__(address, table, *values))


def _end(tensor: torch.Tensor) -> int:
    if tensor.numel() == 0:
        return tensor.data_ptr()
    return tensor.data_ptr() + extent(tensor.shape, tensor.stride()) * tensor.element_size()
