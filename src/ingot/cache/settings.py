"""Where the cache is and how large it may grow, from the environment. INGOT_CACHE_DIR: its folder;
by default `ingot/code` in XDG_CACHE_HOME or in `.cache` of the user's home. INGOT_CACHE_MB: its
size; 0 turns it off.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from ingot.errors import OptionError

FOLDER, SIZE = "INGOT_CACHE_DIR", "INGOT_CACHE_MB"
DEFAULT_MB = 2048


def cache_folder() -> Path | None:
    """None without a home."""
    given = os.environ.get(FOLDER)
    try:
        if given:
            return Path(given).expanduser()
        base = os.environ.get("XDG_CACHE_HOME")
        home = Path(base) if base else Path.home() / ".cache"
    except RuntimeError:
        return None
    return home / "ingot" / "code" if home.is_absolute() else None


def cache_bytes() -> int:
    given = os.environ.get(SIZE)
    if given is None:
        return DEFAULT_MB << 20
    try:
        size = int(given)
    except ValueError:
        size = -1
    if size < 0:
        raise OptionError(f"{SIZE}={given!r}", hints=["a number of megabytes; 0 turns it off"])
    return size << 20


def why_no_cache() -> str:
    """Empty if there is one."""
    folder = cache_folder()
    if not cache_bytes():
        return f"{SIZE}=0 turns it off"
    return "there is no home" if folder is None else _why_unusable(folder)


def _why_unusable(folder: Path) -> str:
    try:
        with suppress(FileExistsError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = os.stat(folder)
    except (OSError, ValueError) as error:
        return str(error)
    if not stat.S_ISDIR(status.st_mode):
        return f"{folder} is not a folder"
    if hasattr(os, "getuid") and status.st_uid not in (os.getuid(), 0):
        return f"{folder} belongs to another user"
    if status.st_mode & (stat.S_IWOTH | stat.S_IWGRP):
        return f"{folder} can be written by other users; chmod go-w makes it usable"
    return ""
