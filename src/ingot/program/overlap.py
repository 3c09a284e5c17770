"""Memory overlap of tensors, real or fake: whether they share a byte. No memory is read. If a size
is symbolic, or the question is too hard to be settled, the answer is yes.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

_MOST_WORK = 100_000


@dataclass(frozen=True)
class _Place:
    """Bytes of a storage, in the form numpy expects; the addresses are never dereferenced."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int
    itemsize: int

    @cached_property
    def __array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "typestr": f"|V{self.itemsize}",
            "shape": self.shape,
            "strides": self.strides,
            "data": (self.start, False),
        }


def overlap(a: Tensor, b: Tensor) -> bool:
    if a.layout is not torch.strided or b.layout is not torch.strided:
        return a is b
    real = _is_real(a) and _is_real(b)  # then two storages may share memory
    if not real and a.untyped_storage()._cdata != b.untyped_storage()._cdata:
        return False
    first, second = _place(a), _place(b)
    if first is None or second is None:
        return True
    try:
        return np.shares_memory(np.asarray(first), np.asarray(second), max_work=_MOST_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def same_place(a: Tensor, b: Tensor) -> bool:
    """Whether each element of one is the same element of the other."""
    return _place(a) == _place(b)


def has_known_place(tensor: Tensor) -> bool:
    return _place(tensor) is not None


def overlaps_itself(tensor: Tensor) -> bool:
    """Whether more than one index refers to the same element."""
    if any(isinstance(size, int) and size == 0 for size in tensor.shape):
        return False
    place = _place(tensor)
    if place is None:  # an expanded dim is all that can be detected
        pairs = zip(tensor.shape, tensor.stride())
        return any(isinstance(t, int) and t == 0 and not (isinstance(s, int) and s < 2)
                   for s, t in pairs)  # fmt: skip
    dims = sorted((abs(t), s) for s, t in zip(place.shape, place.strides) if s != 1)
    reach = place.itemsize
    for stride, size in dims:
        if stride < reach:
            return _some_index_twice(dims)
        reach = stride * (size - 1) + reach
    return False


def _some_index_twice(dims: list[tuple[int, int]]) -> bool:
    if any(stride == 0 for stride, _ in dims):
        return True
    count = 1
    for _, size in dims:
        count *= size
    if count > _MOST_WORK:
        return True
    steps = (range(0, stride * size, stride) for stride, size in dims)
    return len({sum(index) for index in itertools.product(*steps)}) < count


def _place(tensor: Tensor) -> _Place | None:
    """None if a size is symbolic or the layout is not strided."""
    numbers = (*tensor.shape, *tensor.stride(), tensor.storage_offset())
    if tensor.layout is not torch.strided or not all(type(n) is int for n in numbers):
        return None
    size = tensor.element_size()
    strides = tuple(stride * size for stride in tensor.stride())
    return _Place(tuple(tensor.shape), strides, _start(tensor), size)


def _start(tensor: Tensor) -> int:
    """The address. A tensor without memory gets an arbitrary one: numpy treats null as absent."""
    if _is_real(tensor) and tensor.numel():
        return tensor.data_ptr()
    return tensor.element_size() * (1 + int(tensor.storage_offset()))


def _is_real(tensor: Tensor) -> bool:
    return not isinstance(tensor, FakeTensor) and tensor.device.type == "cpu"
