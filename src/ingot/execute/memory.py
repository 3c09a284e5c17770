"""Fresh memory for large results. The C library maps blocks of this size anew each time, so that
every page costs a fault when it is first written; huge pages make those 512 times fewer. What
holds: the tensor is as torch.empty_strided makes it; without huge pages nothing changes.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from functools import cache

import torch
from torch._C._dynamo.guards import _empty_strided_cpu  # type: ignore[attr-defined]

LARGE = 1 << 25
"""Bytes above which glibc never keeps a block for later."""


def empty_large(
    shape: tuple[int, ...], strides: tuple[int, ...], dtype: torch.dtype
) -> torch.Tensor:
    tensor: torch.Tensor = _empty_strided_cpu(shape, strides, dtype)
    size = tensor.numel() * dtype.itemsize
    if size >= LARGE:
        start = -(-tensor.data_ptr() // mmap.PAGESIZE) * mmap.PAGESIZE
        length = tensor.data_ptr() + size - start
        _advise()(start, length, mmap.MADV_HUGEPAGE)
    return tensor


@cache
def _advise() -> Callable[[int, int, int], int]:
    function = ctypes.CDLL(None).madvise
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return function
