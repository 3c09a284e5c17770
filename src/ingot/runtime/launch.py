"""Entry of a segment: sets the addresses of its bases, then runs its table. Usually one native call
does all of it. The slow path here binds the unusual cases by the same rules: weights that were
written, tensors of other classes or without memory.
"""

from __future__ import annotations

import ctypes
import itertools
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from ingot.codegen.support.executor import executor, executor_address
from ingot.codegen.support.launcher import ANY, FRAME, launcher
from ingot.codegen.support.tensor_layout_probe import dtype_number
from ingot.codegen.support.weight_guard import guard_address
from ingot.errors import CompileError, InputError
from ingot.forks import fork_safe_lock
from ingot.plan.prepared import Prepared, Seen
from ingot.program.plain_tensor import memory_fault


@dataclass(frozen=True)
class Use:
    """A base of packed weights, by the names of the weights in the text."""

    prepared: Prepared
    weights: Sequence[str]


@dataclass(frozen=True)
class Bound:
    """A base of a tensor, by its name in the text."""

    tensor: str
    itemsize: int
    extent: int = 0
    """Bytes from its first element to the end of the last; 0 if that depends on sizes."""
    written: bool = False
    label: str = "a tensor"
    """Its name in errors."""
    dtype: torch.dtype | None = None
    """None if any dtype will do."""


@dataclass(frozen=True)
class Unbound:
    """A base without an address: a step of the segment sets it."""


Base = Use | Bound | Unbound
_publishing = fork_safe_lock()


class SegmentLauncher:
    """Called with the addresses of the bases and of the table, the weights and the tensors."""

    def __init__(self, bases: Sequence[tuple[int, Base]]):
        """`bases`: each with its number."""
        uses = [(number, base) for number, base in bases if isinstance(base, Use)]
        bound = [(number, base) for number, base in bases if isinstance(base, Bound)]
        self.weights = list(dict.fromkeys(name for _, use in uses for name in use.weights))
        """Names of the weights, like those of the tensors in the order of the call."""
        self.tensors = [base.tensor for _, base in bound]
        self._made = [number for number, _ in uses]
        self._bound = [number for number, _ in bound]
        self._moved = [number for number, base in bases if isinstance(base, Unbound)]
        self._uses = [
            (use.prepared, [self.weights.index(name) for name in use.weights]) for _, use in uses
        ]
        self._execute = executor()
        self._seen: Seen | None = None
        self._tensors = [base for _, base in bound]
        rows = ((number, base.itemsize, base.extent, _dtype_of(base)) for number, base in bound)
        self._sizes = array("q", itertools.chain.from_iterable(rows))
        self._constants = array("q")
        self._frame = array("q", [0] * len(FRAME))
        self._set("execute", executor_address())
        self._set("unchanged", guard_address() if uses else 0)
        self._set("weights", len(self.weights))
        self._set("tensors", self._sizes.buffer_info()[0])
        self._set("tensor_count", len(bound))
        self._set("keeper", id(None))
        self._keep_constants(())
        self.quick: Callable[..., int] | None = launcher(self._frame)
        """The native fast path, if available; returns UNUSUAL if `__call__` is needed."""

    def __call__(self, address: int, table: int, *values: torch.Tensor) -> int:
        count = len(self.weights)
        seen = self._look(values[:count]) if self._uses else None
        bases = (ctypes.c_int64 * self._most()).from_address(address)
        addresses = seen.addresses if seen is not None else ()
        for number, made in zip(self._made, addresses, strict=True):
            bases[number] = made
        held = [readable(t, base) for t, base in zip(values[count:], self._tensors, strict=True)]
        for number, tensor in zip(self._bound, held, strict=True):
            bases[number] = tensor.data_ptr()
        for number in self._moved:
            bases[number] = 0
        return self._execute(table, address)

    def _look(self, weights: tuple[torch.Tensor, ...]) -> Seen:
        """Packed weights for the current weights; held until the segment is done."""
        seen = self._seen
        if seen is None or not seen.weights.are(weights):
            seen = Seen(weights, self._uses)
        self._publish(seen)
        return seen

    def _most(self) -> int:
        return max((*self._made, *self._bound, *self._moved, 0)) + 1

    def _publish(self, seen: Seen) -> None:
        """Publishes these weights to the native fast path, which knows none in between."""
        with _publishing:
            self._set("watched", 0)
            self._keep_constants(seen.addresses)
            self._set("keeper", id(seen))
            self._seen = seen
            self._set("watched", seen.weights.frame())

    def _keep_constants(self, made: Sequence[int]) -> None:
        pairs = [*zip(self._made, made, strict=False), *((number, 0) for number in self._moved)]
        self._constants = array("q", (word for pair in pairs for word in pair))
        self._set("constants", self._constants.buffer_info()[0])
        self._set("constant_count", len(pairs))

    def _set(self, name: str, value: int) -> None:
        self._frame[FRAME.index(name)] = value


def _dtype_of(base: Bound) -> int:
    return ANY if base.dtype is None else dtype_number(base.dtype)


def readable(tensor: torch.Tensor, bound: Bound) -> torch.Tensor:
    """The tensor, or for one without memory in PyTorch (a ZeroTensor) the same values in memory.
    Raises if there is nothing to read, or if an op that PyTorch ran returned another dtype than its
    fake kernel."""
    if tensor._is_zerotensor() and not bound.written:
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype).zero_()
    why = f"is on device {tensor.device}" if tensor.device.type != "cpu" else memory_fault(tensor)
    if why is not None:
        raise InputError(f"{bound.label} {why}")
    if bound.dtype is not None and tensor.dtype is not bound.dtype:
        raise CompileError(f"{bound.label} is {tensor.dtype}; the graph says {bound.dtype}")
    return tensor
