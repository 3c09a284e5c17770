"""Descriptors of memrefs: the C layout in which MLIR's functions take and return tensors."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from operator import mul
from typing import Any


@cache
def descriptor_type(rank: int) -> type[ctypes.Structure]:
    fields: list[tuple[str, Any]] = [
        ("allocated", ctypes.c_void_p),
        ("aligned", ctypes.c_void_p),
        ("offset", ctypes.c_int64),
    ]
    if rank:
        fields += [("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]
    return type(f"Memref{rank}", (ctypes.Structure,), {"_fields_": fields})


def descriptor(address: int, sizes: Sequence[int]) -> ctypes.Structure:
    """Of dense memory."""
    made = descriptor_type(len(sizes))(address, address, 0)
    if sizes:
        made.sizes[:] = list(sizes)
        made.strides[:] = list(accumulate(reversed(sizes[1:]), mul, initial=1))[::-1]
    return made
