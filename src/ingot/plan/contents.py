"""What a storage holds: an epoch that moves on when any of its bytes has changed, whoever wrote it.

Bytes are compared by a digest of all of them. A storage that stays as it is for some calls is armed
for write tracking, where the kernel offers it, and then costs a scan of its pages instead. One that
was written while armed is compared by its digest for longer before it is armed again: the first
write to each armed page costs a page fault, which a training loop must not pay in every step.
"""

from __future__ import annotations

import logging
import os
import threading
from array import array
from collections.abc import Iterable, Sequence
from weakref import WeakValueDictionary

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ingot.codegen.weight_guard import digest
from ingot.codegen.write_tracking import (
    PageRange,
    WriteTracker,
    open_tracker,
    pages_inside,
    private_ranges,
)

SMALL = 1 << 15
"""Bytes up to which a digest costs less than a scan."""
PATIENCE, MORE_PATIENCE = 2, 16
"""Calls without a change before a storage is armed, and after it was written while armed: what the
digests of so many calls cost is about what the page faults cost."""

_log = logging.getLogger("ingot.weights")


class Contents:
    """Of one storage. Holds a weak reference, so that no other storage gets its address."""

    def __init__(self, storage: torch.UntypedStorage):
        self.reference = StorageWeakRef(storage)
        self.epoch = array("q", [0])
        """One word, at an address that stays: native code compares it."""
        self.start, self.size = storage.data_ptr(), storage.nbytes()
        self.pages: PageRange | None = None
        """What is armed; None: nothing."""
        self._digest: int | None = None
        """Of all bytes when they were last compared; None: they never were."""
        self._edges = 0
        self._calm, self._patience = 0, PATIENCE
        self._trackable = True

    def is_at(self, storage: torch.UntypedStorage) -> bool:
        return self.start == storage.data_ptr() and self.size == storage.nbytes()

    def move_on(self) -> None:
        """What was made of the bytes is out of date."""
        self.epoch[0] += 1
        self._calm = 0

    def resized(self, storage: torch.UntypedStorage) -> None:
        self.start, self.size = storage.data_ptr(), storage.nbytes()
        self.pages, self._digest, self._trackable = None, None, True
        self.move_on()

    def look(self, tracker: WriteTracker | None) -> None:
        """Compare the bytes with those of last time."""
        if self.pages is not None and tracker is not None:
            if tracker.is_clean(self.pages) and digest(self.edges()) == self._edges:
                return
            # Armed before it is read: what is written meanwhile is seen next time.
            armed = tracker.arm(self.pages)
            if self._compare() and armed:
                self._edges = digest(self.edges())
                return
            self.pages, self._patience = None, MORE_PATIENCE
        else:
            self._compare()

    def _compare(self) -> bool:
        found, before = digest([(self.start, self.size)]), self._digest
        self._digest = found
        if before is None:
            return True
        if found == before:
            self._calm += 1
            return True
        self.move_on()
        return False

    def wants_tracking(self) -> bool:
        unarmed = self._trackable and self.pages is None and self.size > SMALL
        return unarmed and self._calm >= self._patience

    def arm(self, tracker: WriteTracker, private: bool) -> None:
        """`private`: no other process maps the pages. What cannot be armed is not tried again."""
        pages = pages_inside(self.start, self.size)
        if not private or not tracker.arm(pages):
            self._trackable = False
            return
        self.pages = pages
        self._edges = digest(self.edges())
        if not self._compare():
            self.pages = None

    def edges(self) -> list[tuple[int, int]]:
        """What lies before and behind the armed pages."""
        if self.pages is None:
            return [(self.start, self.size)]
        end = self.start + self.size
        return [(self.start, self.pages.start - self.start), (self.pages.end, end - self.pages.end)]


class Guarded:
    """The contents of all storages that anything was made of, for this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.generation = array("q", [0])
        """Moves on in a forked child, where nothing is armed."""
        self._by_storage: WeakValueDictionary[int, Contents] = WeakValueDictionary()
        """They live as long as something that was made of them."""
        self._tracker: WriteTracker | None = None
        self._opened = False

    def tracker(self) -> WriteTracker | None:
        if not self._opened:
            self._opened = True
            self._tracker = open_tracker()
            if self._tracker is None:
                _log.info(
                    "no write tracking by the kernel (Linux 6.7 and userfaultfd): weights are "
                    "compared byte by byte in every call"
                )
        return self._tracker

    def of(self, tensors: Iterable[torch.Tensor]) -> list[Contents]:
        """Distinct ones, made where they are not known yet."""
        found: dict[int, Contents] = {}
        with self.lock:
            for tensor in tensors:
                storage = tensor.untyped_storage()
                known = self._by_storage.get(storage._cdata)
                if known is None:
                    known = self._by_storage[storage._cdata] = Contents(storage)
                elif not known.is_at(storage):
                    known.resized(storage)
                found[storage._cdata] = known
        return list(found.values())

    def look(self, contents: Sequence[Contents]) -> None:
        """Compare each with what it was; arm those that have stayed the same for long."""
        with self.lock:
            tracker = self.tracker()
            for each in contents:
                each.look(tracker)
            wanting = [each for each in contents if each.wants_tracking()]
            if tracker is None or not wanting:
                return
            ranges = [pages_inside(each.start, each.size) for each in wanting]
            for each, private in zip(wanting, private_ranges(ranges), strict=True):
                each.arm(tracker, private)

    def refresh(self, tensors: Iterable[torch.Tensor]) -> None:
        with self.lock:
            for each in self.of(tensors):
                each.move_on()

    def after_fork(self) -> None:
        """The files are the parent's, and so are the pages that they tell of."""
        self.lock = threading.RLock()
        self.generation[0] += 1
        if self._tracker is not None:
            self._tracker.close()
        self._tracker, self._opened = None, False
        for each in list(self._by_storage.values()):
            each.pages = None


guarded = Guarded()
os.register_at_fork(after_in_child=guarded.after_fork)
