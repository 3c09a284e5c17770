"""Writes several files: all of them or none."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from safetensors import SafetensorError

from ingot.errors import EmitError


def write_all(files: Sequence[tuple[Path, Callable[[str], object]]]) -> tuple[Path, ...]:
    """Write every file under a temporary name, then rename all of them."""
    made: list[tuple[str, Path]] = []
    try:
        for path, write in files:
            if path.is_dir():  # renaming would fail after other files are in place
                raise IsADirectoryError(errno.EISDIR, f"{path} is a folder")
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            os.close(handle)
            made.append((name, path))
            write(name)
        for name, path in made:
            os.replace(name, path)
    except BaseException as error:
        for name, _ in made:
            Path(name).unlink(missing_ok=True)
        if not isinstance(error, OSError | SafetensorError):
            raise
        why = getattr(error, "strerror", None) or error
        raise EmitError(f"cannot write {files[0][0]}: {why}") from error
    return tuple(path for path, _ in files)
