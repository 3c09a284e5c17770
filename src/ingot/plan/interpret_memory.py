"""Memory of an interpreted plan: storages with a start offset, and typed views of them."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ingot.errors import PlanError

POISON = 0xCC


@dataclass(frozen=True)
class BufferMemory:
    storage: torch.UntypedStorage
    start: int
    """Bytes."""

    @staticmethod
    def of(tensor: torch.Tensor) -> BufferMemory:
        plain = tensor.detach()
        return BufferMemory(
            plain.untyped_storage(), int(plain.storage_offset()) * plain.element_size()
        )

    def behind(self, nbytes: int) -> BufferMemory:
        return BufferMemory(self.storage, self.start + nbytes)

    def view(
        self, dtype: torch.dtype, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> torch.Tensor:
        """Raises PlanError if the view leaves the storage."""
        first = self.start + offset
        last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        end = first + (last + 1) * dtype.itemsize
        if 0 in shape:
            return torch.empty_strided(shape, strides, dtype=dtype)
        if first < 0 or first % dtype.itemsize or end > self.storage.nbytes():
            room = self.storage.nbytes() - self.start
            raise PlanError(f"a view of bytes {offset} to {end - self.start} of {room}")
        made = torch.empty(0, dtype=dtype)
        return made.set_(self.storage, first // dtype.itemsize, shape, strides)


def poisoned(dtype: torch.dtype, shape: tuple[int, ...], strides: tuple[int, ...]) -> torch.Tensor:
    """Memory in which a read before a write is visible: NaN, or a byte pattern."""
    made = torch.empty_strided(shape, strides, dtype=dtype)
    storage = made.untyped_storage()
    torch.empty(0, dtype=torch.uint8).set_(storage).fill_(POISON)
    if (dtype.is_floating_point or dtype.is_complex) and storage.nbytes():
        count = storage.nbytes() // dtype.itemsize
        whole = torch.empty(0, dtype=dtype).set_(storage, 0, (count,), (1,))
        whole.fill_(float("nan"))
    return made
