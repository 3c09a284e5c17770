"""The cache as a user handles it: its size, removing it, and entries as one file that another
machine can take over. Such a file holds machine code: import only what you trust.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

from ingot.cache.disk import KEY, MOST_ENTRY, Stats, disk_cache, read_entry
from ingot.cache.settings import cache_bytes
from ingot.errors import FileError, InputError

MOST_ENTRIES = 1 << 17


def stats() -> Stats:
    cache = disk_cache()
    return Stats("", 0, 0, cache_bytes()) if cache is None else cache.stats()


def clear() -> int:
    """Remove all entries; returns how many there were."""
    cache = disk_cache()
    if cache is None:
        return 0
    count = cache.stats().entries
    cache.clear()
    return count


def export(path: str | os.PathLike[str]) -> int:
    """Write all entries to one file; returns how many."""
    cache = disk_cache()
    if cache is None:
        raise InputError("there is no cache on disk", hints=["`ingot doctor` says why"])
    partial = f"{os.fspath(path)}.{os.getpid()}.partial"
    count = 0
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for file, _ in sorted(cache.entries()):
                entry = read_entry(file)
                if entry is not None:
                    archive.writestr(zipfile.ZipInfo(file.name), entry)
                    count += 1
        os.replace(partial, path)
    finally:
        Path(partial).unlink(missing_ok=True)
    return count


def import_(path: str | os.PathLike[str]) -> int:
    """Add the entries of a file that `export` wrote; returns how many."""
    cache = disk_cache()
    if cache is None:
        raise InputError("there is no cache on disk", hints=["`ingot doctor` says why"])
    name = os.fspath(path)
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            size = sum(info.file_size for info in infos)
            if len(infos) > MOST_ENTRIES or size > cache.limit:
                raise FileError(f"{name}: {len(infos)} entries of {size} bytes: more than fit")
            for info in infos:
                if not KEY.fullmatch(info.filename) or info.file_size > MOST_ENTRY:
                    raise FileError(f"{name}: {info.filename!a} is not an entry of a cache")
            for info in infos:
                cache.keep(info.filename, archive.read(info))
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise FileError(f"{name}: not a file of cache entries: {error}") from None
    return len(infos)
