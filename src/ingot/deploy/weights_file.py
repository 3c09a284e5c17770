"""The weights of a C program in one file that is mapped into memory: a header, then the contents of
tensors as kernels read them, each at a multiple of 64 bytes.

The header has four words: a magic number, the digest of the layout (two words), the file's size.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable, Hashable, Sequence

import torch
from torch import Tensor

MAGIC = int.from_bytes(b"ingotwt1", "little")
HEADER = struct.Struct("<QQQQ")
LINE = 64


class Weights:
    """Assigns offsets in the file."""

    def __init__(self) -> None:
        self.size = -(-HEADER.size // LINE) * LINE
        self._placed: dict[Hashable, int] = {}
        self._contents: list[tuple[int, Tensor]] = []

    def place(self, key: Hashable, make: Callable[[], Tensor]) -> int:
        """The offset of a tensor's bytes in the file. Each key is stored once. Keys say what a
        tensor is and not which values it has, so that the layout is that of every training."""
        found = self._placed.get(key)
        if found is None:
            data = make().detach().contiguous().view(-1).view(torch.uint8)
            found = self._placed[key] = self.size
            self._contents.append((found, data))
            self.size += -(-len(data) // LINE) * LINE
        return found

    def header(self, texts: Sequence[str]) -> tuple[int, ...]:
        """`texts`: what else the layout depends on."""
        layout = hashlib.sha256()
        for at, data in self._contents:
            layout.update(f"{at} {len(data)};".encode())
        for text in texts:
            layout.update(text.encode())
        return (MAGIC, *struct.unpack("<QQ", layout.digest()[:16]), self.size)

    def write(self, path: str | os.PathLike[str], header: Sequence[int]) -> None:
        with open(path, "wb") as file:
            file.write(HEADER.pack(*header))
            for at, data in self._contents:
                file.seek(at)
                file.write(_bytes(data))
            file.truncate(self.size)


def _bytes(data: Tensor) -> memoryview:
    return memoryview(data.numpy())  # type: ignore[arg-type]


def memory_of(tensor: Tensor, strides: Sequence[int]) -> Tensor:
    """The elements of a tensor as they lie in memory with these strides."""
    tensor = tensor.detach()
    for dim, stride in enumerate(strides):  # the elements of an expanded dimension are one
        if stride == 0 and tensor.shape[dim]:
            tensor = tensor.narrow(dim, 0, 1)
    extent = 0 if 0 in tensor.shape else 1
    for size, stride in zip(tensor.shape, strides, strict=True):
        extent += (size - 1) * stride if extent else 0
    flat = torch.zeros(extent, dtype=tensor.dtype)
    if extent:
        flat.as_strided(tensor.shape, strides).copy_(tensor)
    return flat
