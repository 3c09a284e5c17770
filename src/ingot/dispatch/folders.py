"""The location, reading and writing of tuning files. Nothing here raises: without a home, or on a
read-only or full disk, measurements stay in memory, and the log says so once per folder.
"""

from __future__ import annotations

import logging
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from ingot.document import MOST_BYTES

log = logging.getLogger("ingot.dispatch")
_announced: set[str] = set()


def tuning_folder(option: str = "") -> Path | None:
    """The folder of the option `tuning`, or the default in the user's home; None if there is
    neither."""
    try:
        if option:
            return Path(option).expanduser()
        home = Path.home()
    except (RuntimeError, ValueError) as error:
        _announce(option or "home", f"there is no folder for tuning files: {error}")
        return None
    if not home.is_absolute():
        _announce(str(home), f"there is no folder for tuning files: HOME is {str(home)!r}")
        return None
    return home / ".cache" / "ingot" / "tuning"


def has_tuning_files(option: str = "") -> bool:
    folder = tuning_folder(option)
    try:
        return folder is not None and folder.is_dir()
    except (OSError, ValueError):  # a home without read permission
        return False


def read_tuning_file(path: Path) -> bytes | None:
    """At most one byte more than a reader accepts; None if there is no readable file."""
    try:
        if path.exists() and not path.is_file():  # reading a pipe would block
            raise ValueError(f"{path.name} is not a regular file")
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        _announce(str(path.parent), f"tuning files cannot be read: {error}")
        return None


def write_tuning_file(path: Path, text: str) -> None:
    """Atomic: readers and other writers see the old file or the new one."""
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}.")
        with open(handle, "w") as file:
            file.write(text)
        os.replace(temporary, path)
    except (OSError, ValueError) as error:
        _announce(str(path.parent), f"tuning files cannot be written: {error}")
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)


def _announce(folder: str, message: str) -> None:
    if folder not in _announced:
        _announced.add(folder)
        log.warning("%s; measurements are kept in memory", message)
