"""A log of what was built because the cache had no entry, for `ingot cache why`. One line for each
miss, appended in one write: processes do not wait for each other, and a line that was cut off is
ignored. It is only read for reports, and no key depends on it. At most two files of MOST_LOG bytes.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

MOST_LOG = 1 << 20
MOST_WHY = 300
KEY = re.compile(r"[0-9a-f]{32}", re.ASCII)
_started = time.time_ns()


@dataclass(frozen=True)
class Run:
    """The misses of one process."""

    script: str
    """The name of the file that the process ran, without its folder."""
    start: float
    """Seconds since 1970."""
    keys: tuple[str, ...]
    """In the order in which they were built."""
    refused: tuple[str, ...] = ()
    """Why programs that it compiled are not in the cache."""


class MissLog:
    def __init__(self, folder: Path):
        self._files = folder / "misses.old", folder / "misses"

    def add(self, key: str, why: str = "") -> None:
        """`why`: the reason against keeping what has no key."""
        old, new = self._files
        script = os.path.basename(sys.argv[0] if sys.argv else "")
        line = (
            json.dumps(
                [f"{os.getpid()}-{_started}", _started // 10**9, script, key, why[:MOST_WHY]]
            )
            + "\n"
        )
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        with suppress(OSError, ValueError):
            handle = os.open(new, flags, 0o600)
            try:
                if os.fstat(handle).st_size > MOST_LOG:
                    os.replace(new, old)
                os.write(handle, line.encode())
            finally:
                os.close(handle)

    def runs(self) -> list[Run]:
        """From the earliest; each process once, at its last miss."""
        found: dict[str, Run] = {}
        for file in self._files:
            for name, start, script, key, why in _lines(file):
                run = found.pop(name, Run(script, start, ()))
                if key:
                    run = replace(run, keys=(*run.keys, key))
                else:
                    run = replace(run, refused=(*run.refused, why))
                found[name] = run
        return list(found.values())

    def clear(self) -> None:
        for file in self._files:
            with suppress(OSError):
                os.unlink(file)


def _lines(file: Path) -> Iterable[tuple[str, float, str, str, str]]:
    try:
        with file.open("rb") as opened:
            data = opened.read(2 * MOST_LOG)
    except OSError:
        return
    for line in data.splitlines():
        try:
            name, start, script, key, why = [*json.loads(line), ""][:5]
        except (ValueError, TypeError, RecursionError):
            continue
        if isinstance(start, int) and 0 <= start < 1 << 40 and all(
            isinstance(part, str) and part.isprintable() for part in (name, script, key, why)
        ) and (KEY.fullmatch(key) or (why and not key)):  # fmt: skip
            yield name, start, script, key, why
