"""The version of ingot. The build, the command line and files take it from here."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__version__ = "0.1.0"


@cache
def code_version() -> str:
    """Tells apart all code that may compile differently: the version and, in a checkout, where it
    stays the same while the code changes, a digest of the sources."""
    package = Path(__file__).parent
    if not (package.parent.parent / "pyproject.toml").exists():
        return __version__
    digest = hashlib.sha256()
    for path in sorted(_sources(str(package))):
        with open(path, "rb", buffering=0) as file:
            digest.update(f"{path[len(str(package)) :]}\0".encode())
            digest.update(file.read())
    return f"{__version__} {digest.hexdigest()[:16]}"


def _sources(folder: str) -> Iterator[str]:
    with os.scandir(folder) as found:
        for entry in found:
            if entry.is_dir():
                yield from _sources(entry.path)
            elif entry.name.endswith((".py", ".json")):
                yield entry.path
