"""Memory for large results. The C library maps large blocks anew, some each time and others now and
then, and every new page costs a fault and is cleared when it is first written. Here blocks are
kept, up to a limit, and used again once nobody holds them; new ones lie in huge pages. What holds:
the tensor is as torch.empty_strided makes it; a block that anything still refers to is never given
out; what is kept and of another size than those that are asked for is little.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import sys
import threading
from collections.abc import Callable
from functools import cache

import torch
from torch._C._dynamo.guards import _empty_strided_cpu  # type: ignore[attr-defined]

LARGE = 1 << 20
"""Bytes from which a block is kept. The C library keeps some of up to 32 MB, and gives them back to
the system whenever what was freed last is large."""
KEPT = 1 << 28
"""Bytes that are kept, in use or not, in all."""
IDLE = 1 << 25
"""Bytes that nobody uses and that stay when another size is asked for."""


class Blocks:
    """What is kept, by its size; the size that was asked for last is the last."""

    def __init__(self) -> None:
        self.by_size: dict[int, list[torch.UntypedStorage]] = {}

    def kept_bytes(self) -> int:
        return sum(size * len(blocks) for size, blocks in self.by_size.items())

    def take(self, size: int) -> torch.UntypedStorage:
        """A block that was kept, or a new one."""
        alike = self.by_size[size] = self.by_size.pop(size, [])
        for i in range(len(alike)):
            if _is_idle(alike, i) and alike[i].nbytes() == size and not alike[i].is_shared():
                return alike[i]
        self._make_room()
        block = in_huge_pages(torch.UntypedStorage(size))
        if self.kept_bytes() + size <= KEPT:
            self.by_size.setdefault(size, []).append(block)
        return block

    def _make_room(self) -> None:
        """Of what is idle only the newest stays, as far as it is little."""
        room = IDLE
        for size, blocks in reversed(list(self.by_size.items())):
            for i in reversed(range(len(blocks))):
                if _is_idle(blocks, i):
                    room -= size
                    if room < 0:
                        del blocks[i]
            if not blocks:
                del self.by_size[size]


def _is_idle(blocks: list[torch.UntypedStorage], i: int) -> bool:
    """The list and this call hold the object, the object alone holds the memory."""
    return sys.getrefcount(blocks[i]) == 2 and torch._C._storage_Use_Count(blocks[i]._cdata) == 1


_blocks = Blocks()
_lock = threading.Lock()


def empty_large(
    shape: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype
) -> torch.Tensor:
    last = sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    size = (last + 1) * dtype.itemsize
    if size < LARGE or math.prod(shape) == 0:
        return _empty_strided_cpu(shape, strides, dtype)
    with _lock:
        block = _blocks.take(size)
    return torch.empty(0, dtype=dtype).set_(block, 0, shape, strides)


def in_huge_pages(block: torch.UntypedStorage) -> torch.UntypedStorage:
    start = -(-block.data_ptr() // mmap.PAGESIZE) * mmap.PAGESIZE
    _advise()(start, block.data_ptr() + block.nbytes() - start, mmap.MADV_HUGEPAGE)
    return block


@cache
def _advise() -> Callable[[int, int, int], int]:
    function = ctypes.CDLL(None).madvise
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function
