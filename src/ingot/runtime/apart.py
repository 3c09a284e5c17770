"""Inputs that a program writes, in memory that no other input shares: the functional program reads
an input's old value wherever it likes, and PyTorch guards neither whether inputs share memory nor
where in it they begin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from ingot.codegen.launcher import apartness

MOST = 4096
"""Pairs that are compared one by one."""


def apart(written: int, count: int) -> Callable[..., int]:
    """Of `count` strided tensors, the first `written` against all: a function of the tensors that
    gives 0 where none of those shares memory with another."""
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
