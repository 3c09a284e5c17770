"""Tensors next to protected pages, so that memory before the first or after the last element cannot
be read. A kernel that reads out of bounds ends the process even if the value is unused, so tests
run these in subprocesses."""

from __future__ import annotations

import ctypes
import mmap

import torch

_held: list[mmap.mmap] = []
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def fenced(tensor: torch.Tensor, before: bool) -> torch.Tensor:
    """A copy with the same strides that starts after, or ends before, a protected page."""
    size = tensor.element_size()
    extent = 1 + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride()))
    page = mmap.PAGESIZE
    room = -(-extent * size // page) * page
    block = mmap.mmap(-1, room + 2 * page)
    _held.append(block)
    start = ctypes.addressof(ctypes.c_char.from_buffer(block))
    for edge in (start, start + page + room):
        assert _libc.mprotect(edge, page, 0) == 0
    offset = page if before else page + room - extent * size
    memory = (ctypes.c_char * (extent * size)).from_address(start + offset)
    flat = torch.frombuffer(memory, dtype=tensor.dtype)
    return flat.as_strided(tensor.shape, tensor.stride()).copy_(tensor)
