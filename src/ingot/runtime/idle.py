"""Large memory that runs keep for the next one, released when it was not used for a while. A daemon
thread looks every few seconds, and exists only while something large is kept; no call waits for it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

KEEP = 10.0
"""Seconds that unused memory is kept."""

Release = Callable[[float], bool]
"""Lets go of what was last used before this time; True if anything is still kept."""


class Sweeper:
    def __init__(self) -> None:
        self.releases: list[Release] = []
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Something large is kept from now on."""
        if self._thread is None:
            self._thread = thread = threading.Thread(
                target=self._run, name="ingot-idle-memory", daemon=True
            )
            thread.start()

    def sweep(self, before: float) -> bool:
        return any([release(before) for release in self.releases])

    def _run(self) -> None:
        kept = True
        while kept:
            time.sleep(KEEP / 2)
            kept = self.sweep(time.monotonic() - KEEP)
        self._thread = None
        # What came between the last look and here has found a thread that was about to end.
        if self.sweep(time.monotonic() - KEEP):
            self.wake()

    def forget_thread(self) -> None:
        """It is not in the child of a fork."""
        self._thread = None


sweeper = Sweeper()
os.register_at_fork(after_in_child=sweeper.forget_thread)
