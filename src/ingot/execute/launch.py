"""The start of a segment: its bases get their addresses, then its table runs. Comes in: which base
is which, by number; goes out: a function of this call's weights and tensors. What holds: mostly one
native call does all of it; what is unusual (weights that were written, tensors of other classes or
without memory) is bound here, the long way, by the same rules.
"""

from __future__ import annotations

import ctypes
import threading
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from ingot.codegen.executor import executor, executor_address
from ingot.codegen.launcher import FRAME, launcher
from ingot.codegen.watch import watcher_address
from ingot.plan.prepared import Prepared, Seen


@dataclass(frozen=True)
class Use:
    """Of what was made of weights, by their names in the text."""

    prepared: Prepared
    weights: Sequence[str]


@dataclass(frozen=True)
class Bound:
    """To a tensor, by its name in the text."""

    tensor: str
    itemsize: int


@dataclass(frozen=True)
class Unbound:
    """To nothing yet: a step of the segment sets it."""


Base = Use | Bound | Unbound


class Launch:
    """Called with the addresses of the bases and of the table, the weights and the tensors."""

    def __init__(self, bases: Sequence[tuple[int, Base]]):
        """Each with its number."""
        uses = [(number, base) for number, base in bases if isinstance(base, Use)]
        bound = [(number, base) for number, base in bases if isinstance(base, Bound)]
        self.weights = list(dict.fromkeys(name for _, use in uses for name in use.weights))
        """Their names, and those of the tensors, in the order of the call."""
        self.tensors = [base.tensor for _, base in bound]
        self._made = [number for number, _ in uses]
        self._bound = [number for number, _ in bound]
        self._moved = [number for number, base in bases if isinstance(base, Unbound)]
        self._uses = [
            (use.prepared, [self.weights.index(name) for name in use.weights]) for _, use in uses
        ]
        self._execute = executor()
        self._seen: Seen | None = None
        self._lock = threading.Lock()
        self._sizes = array("q", (w for number, base in bound for w in (number, base.itemsize)))
        self._constants = array("q")
        self._frame = array("q", [0] * len(FRAME))
        self._set("execute", executor_address())
        self._set("unchanged", watcher_address() if uses else 0)
        self._set("weights", len(self.weights))
        self._set("tensors", self._sizes.buffer_info()[0])
        self._set("tensor_count", len(bound))
        self._set("keeper", id(None))
        self._keep_constants(())
        self.quick: Callable[..., int] | None = launcher(self._frame)
        """The native way, where there is one; gives UNUSUAL where this has to be called."""

    def __call__(self, address: int, table: int, *values: torch.Tensor) -> int:
        count = len(self.weights)
        seen = self._look(values[:count]) if self._uses else None
        bases = (ctypes.c_int64 * self._most()).from_address(address)
        addresses = seen.addresses if seen is not None else ()
        for number, made in zip(self._made, addresses, strict=True):
            bases[number] = made
        for number, tensor in zip(self._bound, values[count:], strict=True):
            bases[number] = tensor.data_ptr()
        for number in self._moved:
            bases[number] = 0
        return self._execute(table, address)

    def _look(self, weights: tuple[torch.Tensor, ...]) -> Seen:
        """What was made of the weights as they are now; held until the segment is done."""
        seen = self._seen
        if seen is None or not seen.weights.are(weights):
            seen = Seen(weights, self._uses)
            self._publish(seen)
        return seen

    def _most(self) -> int:
        return max((*self._made, *self._bound, *self._moved, 0)) + 1

    def _publish(self, seen: Seen) -> None:
        """From here on, the native way knows these weights; in between, none."""
        with self._lock:
            self._set("watched", 0)
            self._keep_constants(seen.addresses)
            self._set("keeper", id(seen))
            self._seen = seen
            self._set("watched", seen.weights.watched())

    def _keep_constants(self, made: Sequence[int]) -> None:
        pairs = [*zip(self._made, made, strict=False), *((number, 0) for number in self._moved)]
        self._constants = array("q", (word for pair in pairs for word in pair))
        self._set("constants", self._constants.buffer_info()[0])
        self._set("constant_count", len(pairs))

    def _set(self, name: str, value: int) -> None:
        self._frame[FRAME.index(name)] = value
