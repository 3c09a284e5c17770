"""Write tracking by the kernel: which pages of this process were written since they were armed.

Linux 6.7 and later can write-protect pages asynchronously (userfaultfd with WP_ASYNC): the first
write to a page clears its protection inside the kernel, without a signal and without a helper
thread, whoever writes (Python, C, a system call, another process through /proc). PAGEMAP_SCAN then
tells whether any page of a range was written. A scan costs about a microsecond plus a fraction of a
nanosecond per kilobyte; the first write to an armed page costs a page fault.

Pages that other processes map too are not trackable: their writes go through other page tables.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

PAGE = mmap.PAGESIZE
_USERFAULTFD = {"x86_64": 323, "aarch64": 282}
_USER_MODE_ONLY = 1
_API = 0xAA
_WP_UNPOPULATED, _WP_ASYNC = 1 << 13, 1 << 15
_UFFDIO_API, _UFFDIO_REGISTER = 0xC018AA3F, 0xC020AA00
_REGISTER_MODE_WP = 2
PAGEMAP_SCAN = 0xC0606610
_WP_MATCHING, _CHECK_WPASYNC = 1, 2
_PAGE_IS_WRITTEN = 2
SCAN_WORDS = 12
"""Words of `struct pm_scan_arg`."""
REGION_WORDS = 3
"""Words of `struct page_region`, which a scan fills in."""


@dataclass(frozen=True)
class PageRange:
    """Whole pages, from `start` up to `end`."""

    start: int
    end: int

    def scan_words(self, found: int) -> list[int]:
        """Arguments of a scan that stops at the first written page and stores it at `found`. It
        fails where the range is not armed: it was unmapped, mapped anew, or the process forked."""
        return [
            8 * SCAN_WORDS, _CHECK_WPASYNC, self.start, self.end, 0, found, 1, 1,
            0, _PAGE_IS_WRITTEN, 0, _PAGE_IS_WRITTEN,
        ]  # fmt: skip


def pages_inside(start: int, size: int) -> PageRange:
    """The pages that lie in [start, start + size) as a whole; `end <= start` where none does."""
    return PageRange(-(-start // PAGE) * PAGE, (start + size) // PAGE * PAGE)


class WriteTracker:
    """The kernel's side, for this process."""

    def __init__(self, faults: int, pagemap: int):
        self._faults = faults
        self.pagemap = pagemap
        """The file descriptor that scans go to."""
        self._found = (ctypes.c_int64 * REGION_WORDS)()

    def arm(self, pages: PageRange) -> bool:
        """Forget earlier writes to the pages and note those that follow. False: not trackable."""
        registration = ctypes.create_string_buffer(
            struct.pack("4Q", pages.start, pages.end - pages.start, _REGISTER_MODE_WP, 0)
        )
        if _ioctl()(self._faults, _UFFDIO_REGISTER, registration) != 0:
            return False
        words = [8 * SCAN_WORDS, _CHECK_WPASYNC | _WP_MATCHING, pages.start, pages.end]
        words += [0, 0, 0, 0, 0, _PAGE_IS_WRITTEN, 0, _PAGE_IS_WRITTEN]
        return self._scan(words) == 0 and self.is_clean(pages)

    def is_clean(self, pages: PageRange) -> bool:
        """Was nothing written since the pages were armed?"""
        return self._scan(pages.scan_words(ctypes.addressof(self._found))) == 0

    def written(self, pages: PageRange) -> list[int]:
        """Addresses of the pages written since they were armed; all pages if the scan fails."""
        every = list(range(pages.start, pages.end, PAGE))
        regions = (ctypes.c_uint64 * (REGION_WORDS * len(every)))()
        words = pages.scan_words(ctypes.addressof(regions))
        words[6], words[7] = len(every), 0  # no limit on the pages that are reported
        count = self._scan(words)
        if count < 0:
            return every
        found = (regions[REGION_WORDS * k : REGION_WORDS * k + 2] for k in range(count))
        return [page for start, end in found for page in range(start, end, PAGE)]

    def _scan(self, words: list[int]) -> int:
        arguments = ctypes.create_string_buffer(struct.pack(f"{SCAN_WORDS}Q", *words))
        result: int = _ioctl()(self.pagemap, PAGEMAP_SCAN, arguments)
        return result

    def close(self) -> None:
        os.close(self._faults)
        os.close(self.pagemap)


def open_tracker() -> WriteTracker | None:
    """None where the kernel or a sandbox has no such thing, or where it does not tell the truth."""
    number = _USERFAULTFD.get(platform.machine())
    if number is None or platform.system() != "Linux":
        return None
    faults = _syscall()(number, os.O_CLOEXEC | os.O_NONBLOCK | _USER_MODE_ONLY)
    if faults < 0:
        return None
    handshake = ctypes.create_string_buffer(struct.pack("3Q", _API, _WP_ASYNC | _WP_UNPOPULATED, 0))
    try:
        if _ioctl()(faults, _UFFDIO_API, handshake) != 0:
            raise OSError("no asynchronous write protection")
        tracker = WriteTracker(faults, os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        os.close(faults)
        return None
    if not _tells_the_truth(tracker):
        tracker.close()
        return None
    return tracker


def _tells_the_truth(tracker: WriteTracker) -> bool:
    """Tried on pages of our own."""
    with mmap.mmap(-1, 4 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory[:] = b"\1" * len(memory)
        anchor = ctypes.c_char.from_buffer(memory)
        start = ctypes.addressof(anchor)
        del anchor
        pages = PageRange(start, start + len(memory))
        armed = tracker.arm(pages)
        memory[2 * PAGE]
        unread = tracker.is_clean(pages)
        memory[2 * PAGE + 7] = 2
        return armed and unread and not tracker.is_clean(pages)


@cache
def _ioctl() -> ctypes._NamedFuncPointer:
    function = ctypes.PyDLL(None).ioctl
    function.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]
    return function


@cache
def _syscall() -> ctypes._NamedFuncPointer:
    function = ctypes.CDLL(None).syscall
    function.restype = ctypes.c_long
    function.argtypes = [ctypes.c_long, ctypes.c_long]
    return function


def private_ranges(ranges: Iterable[PageRange]) -> Iterator[bool]:
    """For each range: is all of it mapped privately, so that only this process can write to it?"""
    shared = _shared_mappings()
    for pages in ranges:
        yield shared is not None and not any(
            start < pages.end and pages.start < end for start, end in shared
        )


def _shared_mappings() -> list[tuple[int, int]] | None:
    try:
        with open("/proc/self/maps") as file:
            rows = [line.split(maxsplit=2) for line in file]
    except OSError:
        return None
    limits = [row[0].split("-") for row in rows if row[1].endswith("s")]
    return [(int(start, 16), int(end, 16)) for start, end in limits]
