"""Entries in files, by key. A file is written beside its place and renamed, and holds a digest of
its bytes: readers see a whole entry or none, whatever other processes do. When the files outgrow
the limit, those unused for longest are removed. Nothing here raises: without a usable folder there
is no cache, and the log says why once.

Entries are machine code. A folder that other users can write to is not used.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ingot.cache.misses import MissLog, Run
from ingot.cache.settings import cache_bytes, cache_folder, why_no_cache

log = logging.getLogger("ingot.cache")

KEY = re.compile(r"[0-9a-f]{32}", re.ASCII)
MOST_ENTRY = 1 << 28
"""Bytes of an entry."""
KEPT = 0.8
"""Share of the limit that is left after old entries are removed."""
BETWEEN_SCANS = 1 << 24
"""Bytes that this process writes before it measures the folder again."""
PATIENCE = 120.0
"""Seconds that a process waits for another one that is building the same entry."""
POLL = 0.02
STALE = 3600.0
"""Seconds after which an unfinished file of another process is removed."""
_MAGIC = b"ingot cache 1\n"
_DIGEST = 32
_PARTIAL, _LOCK = ".partial", ".lock"


@dataclass(frozen=True)
class Stats:
    folder: str
    """Empty if there is no cache."""
    entries: int
    bytes: int
    limit: int
    hits: int = 0
    """Of this process."""
    misses: int = 0
    written: int = 0
    trouble: str = ""
    """Why there is no cache, or why it is not written."""


@dataclass(frozen=True)
class Removed:
    entries: int
    bytes: int
    left: int = 0
    """Entries that could not be removed."""


class DiskCache:
    def __init__(self, folder: Path, limit: int):
        self.folder, self.limit = folder, limit
        self.hits = self.misses = self.written = 0
        self._unmeasured = BETWEEN_SCANS
        self.trouble = ""
        """Why entries are no longer written."""
        self._misses = MissLog(folder)

    def path(self, key: str) -> Path:
        assert KEY.fullmatch(key), key
        return self.folder / key[:2] / key

    def find(self, key: str) -> bytes | None:
        path = self.path(key)
        entry = read_entry(path)
        if entry is None:
            self.misses += 1
            return None
        self.hits += 1
        with suppress(OSError):
            os.utime(path)  # last used now
        return entry

    def keep(self, key: str, entry: bytes) -> None:
        if self.trouble or len(entry) > MOST_ENTRY or os.path.exists(self.path(key)):
            return
        try:
            self._write(self.path(key), entry)
        except OSError as error:
            self.trouble = f"the cache in {self.folder} is not written: {error.strerror or error}"
            log.info("%s", self.trouble)
            return
        self.written += 1
        self._unmeasured += len(entry)
        if self._unmeasured > BETWEEN_SCANS:
            self._unmeasured = 0
            self.trim()

    def _write(self, path: Path, entry: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=_PARTIAL)
        try:
            with open(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(entry).digest() + entry)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise

    @contextmanager
    def building(self, key: str) -> Iterator[None]:
        """Held by the process that builds an entry, so that others wait for it instead of building
        the same. It is only an advice: after PATIENCE, or where files cannot be locked, they go
        on."""
        path = self.path(key).with_suffix(_LOCK)
        handle = None if self.trouble else _locked(path)
        try:
            yield
        finally:
            if handle is not None:
                with suppress(OSError):
                    os.unlink(path)
                os.close(handle)

    def remove(self, key: str) -> None:
        _remove(self.path(key))

    def missed(self, key: str, why: str = "") -> None:
        """Record that an entry was built because there was none; without a key, why there will be
        none."""
        self._misses.add(key, why)

    def runs(self) -> list[Run]:
        return self._misses.runs()

    def entries(self) -> Iterator[tuple[Path, os.stat_result]]:
        for path, status in self._files():
            if KEY.fullmatch(path.name):
                yield path, status

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        for folder in _listed(self.folder):
            if re.fullmatch(r"[0-9a-f]{2}", folder.name):
                for path in _listed(Path(folder)):
                    with suppress(OSError):
                        yield Path(path), path.stat(follow_symlinks=False)

    def trim(self) -> None:
        """Remove the entries that were unused for longest, if all together are too large, and what
        ended processes left behind."""
        now = time.time()
        for path, status in self._files():
            if path.suffix in (_PARTIAL, _LOCK) and now - status.st_mtime > STALE:
                _remove(path)
        found = sorted(self.entries(), key=lambda pair: pair[1].st_mtime)
        size = sum(status.st_size for _, status in found)
        if size <= self.limit:
            return
        for path, status in found:
            if size <= self.limit * KEPT:
                return
            _remove(path)
            size -= status.st_size

    def clear(self) -> Removed:
        """Remove all entries, and the log of misses."""
        count = size = left = 0
        for path, status in list(self._files()):
            _remove(path)
            if not KEY.fullmatch(path.name):
                continue
            if os.path.lexists(path):
                left += 1
            else:
                count, size = count + 1, size + status.st_size
        self._misses.clear()
        return Removed(count, size, left)

    def stats(self) -> Stats:
        sizes = [status.st_size for _, status in self.entries()]
        return Stats(
            str(self.folder), len(sizes), sum(sizes), self.limit,
            self.hits, self.misses, self.written, self.trouble,
        )  # fmt: skip


def read_entry(path: Path) -> bytes | None:
    """None if there is no entry, or a damaged one, which is removed."""
    try:
        with path.open("rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            data = file.read(len(_MAGIC) + _DIGEST + MOST_ENTRY + 1)
    except OSError:
        return None
    start = len(_MAGIC) + _DIGEST
    entry = data[start:]
    if (
        data[: len(_MAGIC)] == _MAGIC
        and hashlib.sha256(entry).digest() == data[len(_MAGIC) : start]
    ):
        return entry
    log.info("a damaged entry of the cache is removed: %s", path)
    _remove(path)
    return None


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _remove(path: Path) -> None:
    with suppress(OSError):
        os.unlink(path)


def _locked(path: Path) -> int | None:
    """A descriptor that holds the lock; None if there is none to be had."""
    end = time.monotonic() + PATIENCE
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        while time.monotonic() < end:
            handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(handle), os.stat(path)):
                    return handle
            except (BlockingIOError, FileNotFoundError):
                pass
            os.close(handle)
            time.sleep(POLL)
    except OSError:
        pass
    return None


@cache
def disk_cache() -> DiskCache | None:
    """The cache of this process; None if there is no usable folder, or the size is 0."""
    limit, folder, why = cache_bytes(), cache_folder(), why_no_cache()
    if why or folder is None:
        log.info("no cache on disk: %s", why)
        return None
    return DiskCache(folder, limit)
