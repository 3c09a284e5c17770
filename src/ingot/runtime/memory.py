"""Memory for large results. The C library maps large blocks anew, some each time and others now and
then, and every new page costs a fault and is cleared when first written. Here blocks are kept, up
to a limit, and reused once nothing refers to them; new ones use huge pages. Tensors are as
torch.empty_strided makes them; a block that is still referenced is never handed out; of sizes other
than those requested, little is kept.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache

import torch
from torch import Tensor
from torch._C._dynamo.guards import (  # type: ignore[attr-defined]
    _empty_strided_cpu,
    _reinterpret_tensor,
)

from ingot.forks import fork_safe_lock
from ingot.runtime.idle import sweeper

LARGE = 1 << 20
"""Minimum bytes of a block that is kept. The C library keeps some of up to 32 MB, and returns them
to the system whenever the last freed block is large."""
KEPT = 1 << 28
"""Bytes that are kept in total, in use or not."""
IDLE = 1 << 25
"""Bytes of unused blocks that stay when another size is requested."""


class Block:
    """A block of memory that is kept."""

    def __init__(self, size: int) -> None:
        self.storage = in_huge_pages(torch.UntypedStorage(size))
        self.address = self.storage._cdata
        self.wholes: dict[tuple[torch.dtype, bool], Tensor] = {}
        """Tensors of the whole block: results are reinterpretations of one of them."""
        self._whole(torch.uint8)
        self.used = time.monotonic()
        """When it was last handed out."""
        self.references = sys.getrefcount(self.storage)
        """To the storage object, while nothing else refers to it."""

    def is_idle(self) -> bool:
        """Does nothing outside this object refer to the memory?"""
        if torch._C._storage_Use_Count(self.address) != 1 + len(self.wholes):
            return False
        return sys.getrefcount(self.storage) == self.references

    def is_sound(self, size: int) -> bool:
        """Neither resized nor shared with other processes?"""
        return self.storage.nbytes() == size and not self.storage.is_shared()

    def tensor(
        self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype
    ) -> Tensor:
        return _reinterpret_tensor(self._whole(dtype), shape, strides, 0)

    def _whole(self, dtype: torch.dtype) -> Tensor:
        kind = dtype, torch.is_inference_mode_enabled()
        whole = self.wholes.get(kind)
        if whole is None:
            whole = self.wholes[kind] = torch.empty(0, dtype=dtype).set_(self.storage)
        return whole


class Blocks:
    """Kept blocks by size; the size that was requested last comes last."""

    def __init__(self) -> None:
        self.by_size: dict[int, list[Block]] = {}
        self.latest = 0

    def kept_bytes(self) -> int:
        return sum(size * len(blocks) for size, blocks in self.by_size.items())

    def take(self, size: int) -> Block:
        """A kept block, or a new one."""
        if size != self.latest:
            self.by_size[size] = self.by_size.pop(size, [])
            self.latest = size
        for block in self.by_size.get(size, ()):
            if block.is_idle() and block.is_sound(size):
                block.used = time.monotonic()
                return block
        self._make_room()
        block = Block(size)
        if self.kept_bytes() + size <= KEPT:
            self.by_size.setdefault(size, []).append(block)
            sweeper.wake()
        return block

    def release(self, before: float) -> bool:
        """Releases idle blocks last handed out before this time; True if any block is kept."""
        for size, blocks in list(self.by_size.items()):
            blocks[:] = [b for b in blocks if b.used >= before or not b.is_idle()]
            if not blocks:
                del self.by_size[size]
        return bool(self.by_size)

    def _make_room(self) -> None:
        """Of the idle blocks, keeps only the newest, up to IDLE bytes."""
        room = IDLE
        for size, blocks in reversed(list(self.by_size.items())):
            for i in reversed(range(len(blocks))):
                if blocks[i].is_idle():
                    room -= size
                    if room < 0:
                        del blocks[i]
            if not blocks:
                del self.by_size[size]


_blocks = Blocks()
_lock = fork_safe_lock()


def _release(before: float) -> bool:
    with _lock:
        return _blocks.release(before)


sweeper.releases.append(_release)


def empty_large(shape: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """For sizes that are known only at run time."""
    size = extent(shape, strides) * dtype.itemsize
    if size < LARGE:
        return _empty_strided_cpu(shape, strides, dtype)
    return empty_kept(size, shape, strides, dtype)


def empty_kept(
    size: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype
) -> Tensor:
    with _lock:
        return _blocks.take(size).tensor(shape, strides, dtype)


def extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Number of elements from the first to the last."""
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))


def in_huge_pages(block: torch.UntypedStorage) -> torch.UntypedStorage:
    start = -(-block.data_ptr() // mmap.PAGESIZE) * mmap.PAGESIZE
    _advise()(start, block.data_ptr() + block.nbytes() - start, mmap.MADV_HUGEPAGE)
    return block


@cache
def _advise() -> Callable[[int, int, int], int]:
    function = ctypes.CDLL(None).madvise
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function
