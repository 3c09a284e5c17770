"""The bytes of the storages that packed weights were made from. Each storage has an epoch, a
counter that moves on when its bytes have changed, whoever wrote them.

Bytes are compared by a digest of all of them. Storages that stay the same for some calls are armed:
their pages are write-protected (codegen/support/write_tracking.py), and a scan of the page flags
replaces the digest. A flag tells about a page, not about a storage, so storages that are neighbours
in memory are armed together, as a Span, with one scan. Only `GuardedContents._track` clears flags,
and it compares every storage of the span afterwards: a write that one program has seen cannot be
lost to another.

A storage that is written while armed is compared by its digest for longer before it is armed again,
because the first write to each armed page costs a page fault.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from weakref import WeakSet, WeakValueDictionary

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ingot.codegen.support.weight_guard import digest
from ingot.codegen.support.write_tracking import (
    PAGE,
    PageRange,
    WriteTracker,
    open_tracker,
    pages_inside,
    private_ranges,
)

SMALL = 1 << 15
"""Bytes whose digest costs about as much as a scan; shorter runs of pages are not armed."""
MOST = 1 << 23
"""Bytes of a span of several storages. A write to one of them has all of them compared."""
PATIENCE, MORE_PATIENCE = 2, 16
"""Calls without a change before a storage is armed, and after it was written while armed: the
digests of that many calls cost about as much as the page faults."""
HOT = 2
"""Writes to a page beside the weights, such as a neighbour on the heap, after which the page is
left out of spans and its bytes are compared by digest."""
MOST_HOT = 1 << 16
Range = tuple[int, int]
"""An address and a number of bytes."""

_log = logging.getLogger("ingot.weights")


class Contents:
    """The bytes of one storage. Holds a weak reference to it, so that no other storage gets its
    address."""

    def __init__(self, storage: torch.UntypedStorage):
        self.reference = StorageWeakRef(storage)
        self.epoch = array("q", [0])
        """One word at a fixed address: native code compares it."""
        self.start, self.size = storage.data_ptr(), storage.nbytes()
        self.span: Span | None = None
        """The span that it is armed in, if it is."""
        self.trackable = True
        self._digest: int | None = None
        """Of all bytes at the last comparison; None before the first."""
        self._calm, self._patience = 0, PATIENCE

    @property
    def end(self) -> int:
        return self.start + self.size

    def is_at(self, storage: torch.UntypedStorage) -> bool:
        return self.start == storage.data_ptr() and self.size == storage.nbytes()

    def move_on(self) -> None:
        """Invalidate everything made from the bytes."""
        self.epoch[0] += 1
        self._calm = 0

    def resized(self, storage: torch.UntypedStorage) -> None:
        self.start, self.size = storage.data_ptr(), storage.nbytes()
        self.span, self._digest, self.trackable = None, None, True
        self.move_on()

    def compare(self) -> bool:
        """Are the bytes those of the last comparison? The epoch moves on if they are not."""
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
        return self.trackable and self.span is None and self._calm >= self._patience

    def written_while_armed(self) -> None:
        self.span, self._patience = None, MORE_PATIENCE


class Span:
    """Storages that are neighbours in memory and armed together. `pieces` are the armed pages,
    `loose` the bytes of the storages outside of them, which are compared by their digest."""

    def __init__(self, members: Sequence[Contents], hot: Iterable[int] = ()):
        """`members` in the order of their addresses; `hot`: pages to leave out."""
        self._members = [weakref.ref(member) for member in members]
        self.start, self.end = members[0].start, max(member.end for member in members)
        self.pieces = list(_without(pages_inside(self.start, self.end - self.start), hot))
        self.loose = list(_outside(members, self.pieces))
        self._loose_digest: int | None = None

    def members(self) -> list[Contents]:
        alive = [member for reference in self._members if (member := reference()) is not None]
        return [member for member in alive if member.span is self]

    def arm(self, tracker: WriteTracker) -> bool:
        """Protect the pages, then take the digest of the other bytes: both before the storages are
        compared, so that a write meanwhile is seen by the comparison or by the next look."""
        armed = all(tracker.arm(piece) for piece in self.pieces)
        self._loose_digest = digest(self.loose)
        return armed

    def is_clean(self, tracker: WriteTracker) -> bool:
        return all(map(tracker.is_clean, self.pieces)) and digest(self.loose) == self._loose_digest

    def pages_beside(self, written: Iterable[int]) -> list[int]:
        """Of the pages, those that hold other bytes than those of one member."""
        inside = [pages_inside(member.start, member.size) for member in self.members()]
        return [p for p in written if not any(pages.start <= p < pages.end for pages in inside)]


def _without(pages: PageRange, hot: Iterable[int]) -> Iterable[PageRange]:
    start = pages.start
    for page in sorted({p for p in hot if pages.start <= p < pages.end} | {pages.end}):
        if page - start >= SMALL:
            yield PageRange(start, page)
        start = page + PAGE


def _outside(members: Sequence[Contents], pieces: Sequence[PageRange]) -> Iterable[Range]:
    for member in members:
        at = member.start
        for piece in pieces:
            if piece.end <= at or piece.start >= member.end:
                continue
            if piece.start > at:
                yield at, piece.start - at
            at = piece.end
        if at < member.end:
            yield at, member.end - at


def _runs(contents: Iterable[Contents]) -> list[list[Contents]]:
    """Groups with less than a page between neighbours: each page has bytes of one group at most."""
    runs: list[list[Contents]] = []
    start = end = 0
    for each in sorted(contents, key=lambda each: each.start):
        near = bool(runs) and each.start - end < PAGE
        if near and (each.start < end or each.end - start <= MOST):
            runs[-1].append(each)
            end = max(end, each.end)
        else:
            runs.append([each])
            start, end = each.start, each.end
    return runs


class GuardedContents:
    """The contents of all storages that anything was made from, for this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.generation = array("q", [0])
        """Moves on in a forked child, where nothing is armed."""
        self._by_storage: WeakValueDictionary[int, Contents] = WeakValueDictionary()
        """Entries live as long as something that was made from them."""
        self._spans: WeakSet[Span] = WeakSet()
        self._heat: Counter[int] = Counter()
        """Writes to armed pages that changed no storage, by page."""
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
        """The distinct contents of the tensors' storages, created on first use."""
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
        """Compare each with its last bytes; arm those that have stayed the same for long."""
        with self.lock:
            tracker = self.tracker()
            for span in _spans_of(contents):
                self._look_at(span, tracker)
            unarmed = [each for each in contents if each.span is None]
            for each in unarmed:
                each.compare()
            wanting = [each for each in unarmed if each.wants_tracking()]
            if tracker is not None and wanting:
                self._arm(wanting, tracker)

    def checks(self, contents: Sequence[Contents]) -> tuple[list[PageRange], list[Range]]:
        """For native code: pages to scan and bytes to digest that together cover the contents."""
        with self.lock:
            spans = _spans_of(contents)
            pages = [piece for span in spans for piece in span.pieces]
            loose = [each for span in spans for each in span.loose]
            return pages, loose + [(e.start, e.size) for e in contents if e.span is None]

    def waiting_bytes(self, contents: Iterable[Contents]) -> int:
        """Bytes that are compared by digest now and may be armed by a later look."""
        if self.tracker() is None:
            return 0
        return sum(each.size for each in contents if each.span is None and each.trackable)

    def refresh(self, tensors: Iterable[torch.Tensor]) -> None:
        with self.lock:
            for each in self.of(tensors):
                each.move_on()

    def after_fork(self) -> None:
        """The child inherits neither the files nor the write protection."""
        self.lock = threading.RLock()
        self.generation[0] += 1
        if self._tracker is not None:
            self._tracker.close()
        self._tracker, self._opened = None, False
        self._spans = WeakSet()
        for each in list(self._by_storage.values()):
            each.span = None

    # -- spans -------------------------------------------------------------------------------------

    def _look_at(self, span: Span, tracker: WriteTracker | None) -> None:
        if tracker is None:
            self._dissolve(span)
            return
        if span.is_clean(tracker):
            return
        written = [page for piece in span.pieces for page in tracker.written(piece)]
        members, beside = span.members(), span.pages_beside(written)
        self._heat.update(beside)
        if len(self._heat) > MOST_HOT:
            self._heat.clear()
        self._dissolve(span)
        for each in self._track(members, tracker):  # a change is no sign of a busy neighbour
            for page in beside:
                if each.start < page + PAGE and page < each.end:
                    self._heat.pop(page, None)

    def _dissolve(self, span: Span) -> None:
        for member in span.members():
            member.span = None
        self._spans.discard(span)

    def _arm(self, wanting: Sequence[Contents], tracker: WriteTracker) -> None:
        """Arm the storages, together with the members of the spans that they touch."""
        ranges = [PageRange(each.start, each.end) for each in wanting]
        candidates: list[Contents] = []
        for each, private in zip(wanting, private_ranges(ranges), strict=True):
            each.trackable = private  # what cannot be armed is not tried again
            candidates += [each] if private else []
        for span in list(self._spans):
            if any(e.start - PAGE < span.end and span.start < e.end + PAGE for e in wanting):
                candidates += span.members()
                self._dissolve(span)
        self._track(candidates, tracker)

    def _track(self, members: Iterable[Contents], tracker: WriteTracker) -> list[Contents]:
        """Arm storages; the ones whose bytes turn out to have changed, which are left out."""
        changed: list[Contents] = []
        runs = _runs(members)
        while runs:
            run = runs.pop()
            span = Span(run, (page for page, count in self._heat.items() if count >= HOT))
            if not span.pieces or not span.arm(tracker):
                runs += self._refused(run) if span.pieces else self._too_small(run)
                continue
            now = [each for each in run if not each.compare()]
            if now:
                for each in now:
                    each.written_while_armed()
                changed += now
                runs += _runs(each for each in run if each not in now)
                continue
            for each in run:
                each.span = span
            self._spans.add(span)
        return changed

    def _refused(self, run: Sequence[Contents]) -> list[list[Contents]]:
        """The kernel tracks no writes to a run: any of its storages may be the reason."""
        if len(run) > 1:
            return [[each] for each in run]
        return self._too_small(run)

    def _too_small(self, run: Sequence[Contents]) -> list[list[Contents]]:
        """Compared by digest from now on."""
        for each in run:
            each.compare()
            each.trackable = False
        return []


def _spans_of(contents: Iterable[Contents]) -> list[Span]:
    return list(dict.fromkeys(each.span for each in contents if each.span is not None))


guarded = GuardedContents()
os.register_at_fork(after_in_child=guarded.after_fork)
