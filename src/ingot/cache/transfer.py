"""The cache as a user handles it: its size, removing it, and entries as one file that another
machine can take over. Such a file holds machine code: import only what you trust. Every entry of it
is checked before the first one is added.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ingot.cache.disk import KEY, MOST_ENTRY, DiskCache, Removed, Stats, disk_cache, read_entry
from ingot.cache.settings import cache_bytes, why_no_cache
from ingot.errors import CacheError, FileError, IngotError

MOST_ENTRIES = 1 << 17
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError,
    IndexError, OverflowError,
)  # fmt: skip
"""What zipfile raises for a damaged file."""

Check = Callable[[str, bytes], None]
"""Raises an IngotError for an entry that does not belong under its key."""


def stats() -> Stats:
    cache = disk_cache()
    return (
        Stats("", 0, 0, cache_bytes(), trouble=why_no_cache()) if cache is None else cache.stats()
    )


def clear() -> Removed:
    """Remove all entries."""
    cache = disk_cache()
    return Removed(0, 0) if cache is None else cache.clear()


def export(path: str | os.PathLike[str]) -> int:
    """Write all entries to one file; returns how many."""
    cache = _cache()
    partial = f"{os.fspath(path)}.{os.getpid()}.partial"
    count = 0
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for file, _ in sorted(cache.entries()):
                entry = read_entry(file)
                if entry is not None:
                    archive.writestr(zipfile.ZipInfo(file.name), entry, zipfile.ZIP_DEFLATED)
                    count += 1
        os.replace(partial, path)
    finally:
        with suppress(OSError):
            os.unlink(partial)
    return count


def import_(path: str | os.PathLike[str], check: Check) -> int:
    """Add the entries of a file that `export` wrote; returns how many it has."""
    cache = _cache()
    name = os.fspath(path)
    with Path(path).open("rb") as opened:
        try:
            with zipfile.ZipFile(opened) as archive:
                infos = _listed(archive, name, cache.limit)
                for info in infos:
                    _checked(archive, info, name, check)
                for info in infos:
                    cache.keep(info.filename, archive.read(info))
        except IngotError:
            raise
        except _DAMAGED as error:
            raise FileError(f"{name}: not a file of cache entries: {error}") from None
    if cache.trouble:
        raise CacheError(cache.trouble)
    cache.trim()
    return len(infos)


def _cache() -> DiskCache:
    cache = disk_cache()
    if cache is None:
        raise CacheError(why_no_cache())
    return cache


def _listed(archive: zipfile.ZipFile, name: str, limit: int) -> list[zipfile.ZipInfo]:
    infos = archive.infolist()
    size = sum(info.file_size for info in infos)
    if len(infos) > MOST_ENTRIES or size > limit:
        raise FileError(f"{name}: {len(infos)} entries of {size} bytes: more than fit")
    for info in infos:
        plain = info.compress_type in _METHODS and not info.flag_bits & 1
        if not KEY.fullmatch(info.filename) or info.file_size > MOST_ENTRY or not plain:
            raise FileError(f"{name}: {info.filename!a} is not an entry of a cache")
    return infos


def _checked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, check: Check) -> None:
    try:
        check(info.filename, archive.read(info))
    except IngotError as error:
        raise FileError(f"{name}: {info.filename}: {error.why}") from None
