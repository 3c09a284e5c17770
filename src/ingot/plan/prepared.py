"""Packed weights: values made of weights once and kept for as long as a program uses them. What is
used is always made of the weights as they are: their storage, geometry and bytes (see
plan/contents.py), or what the option `weight_guard` makes of the last.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import torch

from ingot.codegen.support.weight_guard import (
    FRAME,
    ITEMS,
    NO_VERSION,
    can_note,
    digest,
    guard_function,
    note,
)
from ingot.codegen.support.write_tracking import REGION_WORDS, PageRange
from ingot.plan.contents import guarded
from ingot.plan.samples import sampled_ranges
from ingot.program.plain_tensor import require_memory

EXACT, SAMPLED, OFF = "exact", "sampled", "off"
IN_CALL = 1 << 20
"""Bytes that native code digests in a call, with the interpreter's lock held."""
WAITING = 1 << 16
"""Bytes that may still be armed. With more of them Python compares the weights, and arms them."""
_made: WeakValueDictionary[Any, Made] = WeakValueDictionary()
"""By recipe and weights; shared by all programs."""


class Weights:
    """Weights as they were when this was made. It has to be made before they are read: what is
    written later is then seen by the next comparison."""

    def __init__(self, weights: Sequence[torch.Tensor], guard: str = EXACT, look: bool = True):
        """`look`: False where the bytes were compared a moment ago, in the same call."""
        require_memory(("a weight", weight) for weight in weights)
        self._guard = guard
        self._contents = guarded.of(weights)
        if guard == EXACT and look:
            guarded.look(self._contents)
        self._epochs = [each.epoch[0] for each in self._contents]
        self._versions = [self._version(weight) for weight in weights]
        self.geometry = tuple(map(_geometry, weights))
        self._samples = self._sampled(weights)
        self._digest = digest(self._samples)
        self._words = (
            [note(*pair) for pair in zip(weights, self._versions, strict=True)]
            if all(map(can_note, weights))
            else None
        )
        self._frame: array[int] | None = None
        self._tables: list[array[int]] = []

    def _version(self, weight: torch.Tensor) -> int:
        """PyTorch does not count writes to inference tensors: only their bytes tell."""
        return NO_VERSION if self._guard == EXACT or weight.is_inference() else weight._version

    def _sampled(self, weights: Sequence[torch.Tensor]) -> list[tuple[int, int]]:
        if self._guard != SAMPLED:
            return []
        return [each for weight in weights for each in sampled_ranges(weight)]

    def are(self, weights: Sequence[torch.Tensor], look: bool = True) -> bool:
        """Are these the weights, as they were?"""
        if (
            tuple(map(_geometry, weights)) != self.geometry
            or [self._version(weight) for weight in weights] != self._versions
            or guarded.of(weights) != self._contents
        ):
            return False
        if self._guard != EXACT and NO_VERSION in self._versions:
            return False
        return self._hold(look)

    def _hold(self, look: bool) -> bool:
        """Are the bytes the same?"""
        if self._guard == EXACT and look:
            guarded.look(self._contents)
        same = self._epochs == [each.epoch[0] for each in self._contents]
        return same and digest(self._samples) == self._digest

    def frame(self) -> int:
        """The address of what native code compares them by; 0 where it cannot, or where that would
        take long with the interpreter's lock held. Valid until the next time it is asked for."""
        self._frame = None
        if self._words is None or guard_function() is None:
            return 0
        pages: list[PageRange] = []
        ranges = self._samples
        if self._guard == EXACT:
            if guarded.waiting_bytes(self._contents) > WAITING:
                return 0
            pages, ranges = guarded.checks(self._contents)
        uncounted = self._guard != EXACT and NO_VERSION in self._versions
        if uncounted or sum(size for _, size in ranges) > IN_CALL:
            return 0
        frame = self._native_frame(pages, ranges)
        # Only now: what was written before the frame's digest was taken must not be missed.
        if not self._hold(look=True):
            return 0
        self._frame = frame
        return frame.buffer_info()[0]

    def _native_frame(
        self, armed: Sequence[PageRange], ranges: Sequence[tuple[int, int]]
    ) -> array[int]:
        tracker = guarded.tracker() if armed else None
        epochs = [(guarded.generation, guarded.generation[0])]
        epochs += [(e.epoch, n) for e, n in zip(self._contents, self._epochs, strict=True)]
        found = array("q", [0] * REGION_WORDS)
        scans = [pages.scan_words(found.buffer_info()[0]) for pages in armed]
        assert self._words is not None
        tables = {
            "noted": _table(self._words),
            "epochs": _table((epoch.buffer_info()[0], value) for epoch, value in epochs),
            "scans": _table(scans),
            "ranges": _table(ranges),
        }
        words = {name: table.buffer_info()[0] for name, table in tables.items()}
        words |= {
            "tensors": len(self.geometry), "epoch_count": len(epochs), "scan_count": len(armed),
            "pagemap": tracker.pagemap if tracker is not None else 0,
            "range_count": len(ranges), "digest": digest(ranges),
        }  # fmt: skip
        self._tables = [found, *tables.values()]
        return array("q", (words[name] for name in FRAME))

    def are_by_frame(self, weights: tuple[torch.Tensor, ...]) -> bool:
        """What native code says of them; `frame` was asked for before."""
        compare = guard_function()
        assert compare is not None and self._frame is not None
        return bool(compare(id(weights) + ITEMS, self._frame.buffer_info()[0]))


def _table(rows: Iterable[Sequence[int]]) -> array[int]:
    return array("q", itertools.chain.from_iterable(rows))


def _geometry(weight: torch.Tensor) -> tuple[Any, ...]:
    return (
        weight.untyped_storage()._cdata, weight.storage_offset(), tuple(weight.shape),
        weight.stride(), weight.dtype, weight.is_conj(), weight.is_neg(),
    )  # fmt: skip


class Made:
    """What was made of weights."""

    def __init__(
        self,
        weights: Sequence[torch.Tensor],
        guard: str,
        make: Callable[..., torch.Tensor],
        look: bool,
    ):
        self.weights = Weights(weights, guard, look)
        with torch.no_grad():
            self.result = make(*(weight.detach() for weight in weights))
        self.address = self.result.data_ptr()


class Prepared:
    """One use of weights in a program."""

    def __init__(self, recipe: str, make: Callable[..., torch.Tensor], guard: str = EXACT):
        self.recipe = recipe
        self.make = make
        self.guard = guard
        self._last: Made | None = None

    def made(self, *weights: torch.Tensor, look: bool = True) -> Made:
        last = self._last
        if last is None or not last.weights.are(weights, look):
            last = self._last = self._look_up(weights, look)
        return last

    def tensor(self, *weights: torch.Tensor) -> torch.Tensor:
        return self.made(*weights).result

    def bytes(self) -> int:
        """Of what is held for the last weights."""
        return 0 if self._last is None else self._last.result.nbytes

    def _look_up(self, weights: Sequence[torch.Tensor], look: bool) -> Made:
        """Made anew, or by another program of the same weights."""
        key = self.recipe, self.guard, tuple(map(_geometry, weights))
        found = _made.get(key)
        if found is None or not found.weights.are(weights, look):
            found = _made[key] = Made(weights, self.guard, self.make, look)
        return found


class Seen:
    """The weights of a call, and what was made of them: an address for each use. A network has
    hundreds of weights, so they are compared together."""

    def __init__(
        self, weights: Sequence[torch.Tensor], uses: Sequence[tuple[Prepared, Sequence[int]]]
    ):
        """Each use with the numbers of its weights among those of the call."""
        guards = {each.guard for each, _ in uses}
        assert len(guards) == 1, "the uses of one segment have one guard"
        self.weights = Weights(weights, guards.pop())
        self._made = [
            each.made(*(weights[n] for n in numbers), look=False) for each, numbers in uses
        ]
        """Holds the memory at the addresses."""
        self.addresses = [made.address for made in self._made]

    def results(self) -> list[torch.Tensor]:
        """What lies at the addresses."""
        return [made.result for made in self._made]


def refresh(weights: Sequence[torch.Tensor]) -> None:
    """Make anew what was made of these, in the next call that uses it."""
    guarded.refresh(weights)


def prepared_bytes() -> int:
    """What is held at the moment."""
    return sum(made.result.nbytes for made in list(_made.values()))
