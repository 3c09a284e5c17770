"""Several files written together: all of them or none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from ingot.errors import EmitError


def write_all(files: Sequence[tuple[Path, Callable[[str], object]]]) -> tuple[Path, ...]:
    """Every file under another name first, then all renamed."""
    made: list[tuple[str, Path]] = []
    try:
        for path, write in files:
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            os.close(handle)
            made.append((name, path))
            write(name)
        for name, path in made:
            os.replace(name, path)
    except OSError as error:
        for name, _ in made:
            Path(name).unlink(missing_ok=True)
        raise EmitError(f"cannot write {files[0][0]}: {error.strerror or error}") from error
    return tuple(path for path, _ in files)
