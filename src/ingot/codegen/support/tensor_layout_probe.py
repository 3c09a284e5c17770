"""Finds the offsets of fields in PyTorch's tensor objects, such as the version counter, by probing
tensors once per process. Memory is read through the operating system, which refuses invalid
addresses. An offset counts only if it gave the right values of two tensors before and after writes.
The result is None if anything is unexpected; callers then use PyTorch's own API.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import torch

WORD = 8
SEEN = 32
"""Words of an object that are searched."""
INLINE = 5
"""Dimensions up to which a tensor holds its sizes and strides inline."""
FIRST = 617
"""The storage offset of the probed tensors: a value that no other field of them has."""

Read = Callable[[int, int], "tuple[int, ...]"]
"""Reads a number of words at an address; fewer if memory ends."""


@dataclass(frozen=True)
class TensorLayout:
    """Offsets in bytes."""

    tensor: int
    """In the Python object: the address of the tensor."""
    storage: int
    """In the tensor: the address of its storage."""
    first: int
    """In the tensor: its storage offset, in elements."""
    counter: int
    """In the tensor: the address of its version counter."""
    version: int
    """In the version counter: the count, 32 bits."""
    memory: int
    """In the storage: the address of its first byte."""
    bytes: int
    """In the storage: its size in bytes."""
    geometry: int
    """In the tensor: the start of its sizes, strides, offset, dtype, device and dispatch keys."""
    geometry_words: int
    """The length of these, in words."""
    keys: int
    """In the tensor: its dispatch keys."""

    @property
    def sizes(self) -> int:
        """In the tensor: its sizes, padded to INLINE, then its strides. With more dimensions: the
        address of the sizes, which the strides follow directly."""
        return self.geometry + WORD

    @property
    def elements(self) -> int:
        """In the tensor: its number of elements."""
        return self.geometry + (1 + 2 * INLINE + 1) * WORD

    @property
    def dtype(self) -> int:
        """In the tensor: the number of its dtype, 16 bits."""
        return self.elements + WORD


@cache
def tensor_layout() -> TensorLayout | None:
    with suppress(OSError):
        memory = os.open("/proc/self/mem", os.O_RDONLY)
        try:
            return _found(lambda address, count: _read(memory, address, count))
        finally:
            os.close(memory)
    return None


def _read(file: int, address: int, count: int) -> tuple[int, ...]:
    try:
        data = os.pread(file, count * WORD, address)
    except (OSError, OverflowError):
        return ()
    return struct.unpack(f"{len(data) // WORD}Q", data[: len(data) // WORD * WORD])


def _found(read: Read) -> TensorLayout | None:
    """The layout that fits both a plain tensor and a parameter."""
    with torch.inference_mode(False), torch.no_grad():
        made = [torch.zeros(FIRST + 10), torch.ones(FIRST + 20)]
        views = [made[0][FIRST:], torch.nn.Parameter(made[1])[FIRST:]]
        several = [set(_candidates(read, view)) for view in views]
        for view in views:
            view.add_(1)
            view.mul_(2)
    both = {each for each in set.intersection(*several) if all(_fits(read, v, each) for v in views)}
    found = both.pop() if len(both) == 1 else None
    return found if found is not None and _describes(read, found) else None


@cache
def dtype_number(dtype: torch.dtype) -> int:
    """The number of this dtype in tensors; -1 if it is unknown."""
    words = tensor_layout()
    if words is None:
        return -1
    sample = torch.empty(0, dtype=dtype, device="cpu")
    return ctypes.c_uint16.from_address(sample._cdata + words.dtype).value


def _describes(read: Read, words: TensorLayout) -> bool:
    """Whether the sizes of tensors with many dimensions, and dtypes, are where they should be."""
    many = torch.zeros(2, 1, 3, 1, 5, 1, 4).permute(3, 6, 0, 2, 1, 4, 5)
    (at,) = read(many._cdata + words.sizes, 1)
    if read(at, 2 * many.dim()) != (*many.shape, *many.stride()):
        return False
    dtypes = (torch.float32, torch.float64, torch.int8, torch.bool, torch.bfloat16, torch.int64)
    samples = [torch.empty(n, dtype=dtype) for dtype in dtypes for n in (0, 3)]
    numbers = [read(t._cdata + words.dtype, 1)[0] & 0xFFFF for t in samples]
    return numbers[::2] == numbers[1::2] and len(set(numbers)) == len(dtypes)


def _candidates(read: Read, tensor: torch.Tensor) -> Iterator[TensorLayout]:
    storage = tensor.untyped_storage()
    in_object = _places(read(id(tensor), SEEN), tensor._cdata)
    words = read(tensor._cdata, SEEN)
    geometry = _geometry(words, tensor)
    in_storage = _places(read(storage._cdata, SEEN), storage.data_ptr())
    bytes_ = _places(read(storage._cdata, SEEN), storage.nbytes())
    firsts, storages = _places(words, FIRST), _places(words, storage._cdata)
    keys = _places(words, torch._C._dispatch_keys(tensor).raw_repr())
    single = (in_object, firsts, storages, bytes_, keys)
    if not all(len(places) == 1 for places in single) or not in_storage:
        return
    if geometry is None:
        return
    for number, word in enumerate(words):
        if word % WORD or word < 1 << 16:
            continue
        for place, value in enumerate(read(word, WORD)):
            if value & 0xFFFFFFFF == tensor._version:
                yield TensorLayout(
                    in_object[0], storages[0], firsts[0], number * WORD, place * WORD,
                    in_storage[0], bytes_[0], *geometry, keys[0],
                )  # fmt: skip


def _geometry(words: tuple[int, ...], tensor: torch.Tensor) -> tuple[int, int] | None:
    """Offset of the tensor's metadata, and its length in words: the number of dimensions, room for
    INLINE sizes and INLINE strides, the offset, the number of elements, dtype and device, dispatch
    keys."""
    sizes, strides = list(tensor.shape), list(tensor.stride())
    room = [0] * (INLINE - tensor.dim())
    wanted = [tensor.dim(), *sizes, *room, *strides, *room]
    wanted += [int(tensor.storage_offset()), tensor.numel()]
    keys = torch._C._dispatch_keys(tensor).raw_repr()
    count = len(wanted) + 2
    starts = [
        start
        for start in range(len(words) - count + 1)
        if list(words[start : start + len(wanted)]) == wanted and words[start + count - 1] == keys
    ]
    return (starts[0] * WORD, count) if len(starts) == 1 else None


def _places(words: tuple[int, ...], wanted: int) -> list[int]:
    return [number * WORD for number, word in enumerate(words) if word == wanted]


def _fits(read: Read, tensor: torch.Tensor, words: TensorLayout) -> bool:
    """Whether the offsets give the present values of this tensor."""
    storage = tensor.untyped_storage()
    inside = read(tensor._cdata, SEEN)
    counter = read(inside[words.counter // WORD], WORD)
    return (
        read(id(tensor) + words.tensor, 1) == (tensor._cdata,)
        and inside[words.storage // WORD] == storage._cdata
        and inside[words.first // WORD] == tensor.storage_offset()
        and inside[words.keys // WORD] == torch._C._dispatch_keys(tensor).raw_repr()
        and bool(counter)
        and counter[words.version // WORD] & 0xFFFFFFFF == tensor._version
        and read(storage._cdata + words.memory, 1) == (storage.data_ptr(),)
        and read(storage._cdata + words.bytes, 1) == (storage.nbytes(),)
        and _geometry(inside, tensor) == (words.geometry, words.geometry_words)
    )
