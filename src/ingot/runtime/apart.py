"""Detects inputs that a program writes and that share memory with another input. The functional
program reads an input's old value at any point, and PyTorch's guards check neither whether inputs
share memory nor at which offset of it they begin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from ingot.codegen.support.launcher import apartness

MOST = 4096
"""Most pairs that are compared one by one; beyond it, storages are compared as sets."""


def apart(written: int, count: int) -> Callable[..., int]:
    """Compares the first `written` of `count` strided tensors with all of them. Returns a function
    of the tensors that gives 0 if none of those shares memory with another."""
    native = apartness(written) if written * count <= MOST else None
    if native is not None:
        return native

    def in_python(*tensors: Tensor) -> int:
        places = [tensor.untyped_storage().data_ptr() for tensor in tensors]
        others = set(places[written:])
        first = places[:written]
        return -int(len(set(first)) < written or not others.isdisjoint(first))

    return in_python


def written_first(written: Sequence[int], others: Sequence[int]) -> list[int]:
    return [*written, *(k for k in others if k not in set(written))]
