"""Memory for large results. The C library maps blocks of this size anew each time, so that every
page costs a fault and is cleared when it is first written. Here blocks are kept, up to a limit, and
used again once nobody holds them; new ones lie in huge pages. What holds: the tensor is as
torch.empty_strided makes it; a block that anything still refers to is never given out.
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

LARGE = 1 << 25
"""Bytes above which glibc never keeps a block for later."""
KEPT = 1 << 28
"""Bytes that are kept, in use or not, in all."""

_blocks: list[torch.UntypedStorage] = []
_lock = threading.Lock()


def empty_large(
    shape: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype
) -> torch.Tensor:
    last = sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    size = (last + 1) * dtype.itemsize
    if size < LARGE or math.prod(shape) == 0:
        return _empty_strided_cpu(shape, strides, dtype)
    with _lock:
        block = _taken(size)
    return torch.empty(0, dtype=dtype).set_(block, 0, shape, strides)


def _taken(size: int) -> torch.UntypedStorage:
    """A block that was kept, or a new one; what does not fit makes room for it."""
    idle = []
    for i in range(len(_blocks)):
        # This list and the call hold the object, the object alone holds the memory.
        if sys.getrefcount(_blocks[i]) == 2 and torch._C._storage_Use_Count(_blocks[i]._cdata) == 1:
            if _blocks[i].nbytes() == size and not _blocks[i].is_shared():
                return _blocks[i]
            idle.append(i)
    for i in reversed(idle):
        del _blocks[i]
    block = _in_huge_pages(torch.UntypedStorage(size))
    if size + sum(b.nbytes() for b in _blocks) <= KEPT:
        _blocks.append(block)
    return block


def _in_huge_pages(block: torch.UntypedStorage) -> torch.UntypedStorage:
    start = -(-block.data_ptr() // mmap.PAGESIZE) * mmap.PAGESIZE
    _advise()(start, block.data_ptr() + block.nbytes() - start, mmap.MADV_HUGEPAGE)
    return block


@cache
def _advise() -> Callable[[int, int, int], int]:
    function = ctypes.CDLL(None).madvise
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function
