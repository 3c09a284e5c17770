"""Plain tensors, whose memory native code may read: dense CPU tensors of PyTorch's own classes,
with a storage that holds every element. All others (meta, fake, functorch-wrapped, sparse,
quantized, subclasses, freed storages) have no address, or values other than the bytes there.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import torch
from torch import Tensor

from ingot.errors import InputError

PLAIN_TYPES = (Tensor, torch.nn.Parameter)


def why_not_plain(tensor: Tensor) -> str | None:
    """Why native code cannot read it; None for a plain tensor. Lazily conjugated and negated
    tensors are plain: their values can be materialised."""
    if type(tensor) not in PLAIN_TYPES:
        return f"is a {type(tensor).__name__}"
    if tensor.layout is not torch.strided:
        return f"has layout {tensor.layout}"
    if tensor.device.type != "cpu":
        return f"is on device {tensor.device}"
    if tensor._is_zerotensor():
        return "is a ZeroTensor"
    known, lazy = _known_keys()
    keys = torch._C._dispatch_keys(tensor).raw_repr() & ~lazy
    if keys in known:
        return None
    return f"has the dispatch keys {torch._C._dispatch_keys(tensor)}"


def is_eager_plain(tensor: Tensor) -> bool:
    """Whether it is plain, and its values are those in memory."""
    return why_not_plain(tensor) is None and not tensor.is_conj() and not tensor.is_neg()


def plain_keys() -> frozenset[int]:
    """The dispatch keys of plain tensors whose values are those in memory."""
    return _known_keys()[0]


@cache
def _known_keys() -> tuple[frozenset[int], int]:
    """The dispatch keys of plain tensors, and those that conj and neg bits add. They are sampled on
    a thread of its own: modes and transforms that the caller is in are state of its thread."""
    with ThreadPoolExecutor(1) as pool:
        ordinary, conjugate, negative, inference = pool.submit(_sampled_keys).result()
    return frozenset({ordinary, inference}), (conjugate | negative) & ~ordinary


def _sampled_keys() -> list[int]:
    plain, complex_ = torch.empty(0), torch.empty(0, dtype=torch.complex64)
    samples = [plain, complex_.conj(), complex_.conj().imag]
    with torch.inference_mode():
        samples.append(torch.empty(0))
    return [torch._C._dispatch_keys(each).raw_repr() for each in samples]


def extent(tensor: Tensor) -> int:
    """Bytes from the first element to the end of the last."""
    if tensor.numel() == 0:
        return 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return (last + 1) * tensor.element_size()


def memory_fault(tensor: Tensor) -> str | None:
    """Why the elements of a plain tensor cannot be read; None if they can."""
    needed = extent(tensor)
    if not needed:
        return None
    try:
        storage = tensor.untyped_storage()
        held, address = storage.nbytes(), storage.data_ptr()
    except (RuntimeError, NotImplementedError):  # a subclass without memory of its own
        return f"has no memory that native code could read: it is a {type(tensor).__name__}"
    if held == 0 or address == 0:
        return "has no memory: its storage was freed"
    start = tensor.storage_offset() * tensor.element_size()
    if start + needed > held:
        return f"needs {start + needed} bytes of a storage that has {held}"
    return None


def require_memory(tensors: Iterable[tuple[str, Tensor]]) -> None:
    """Raise for the first tensor that native code cannot read; each comes with its name."""
    for name, tensor in tensors:
        why = why_not_plain(tensor) or memory_fault(tensor)
        if why is not None:
            raise InputError(f"{name} {why}")
