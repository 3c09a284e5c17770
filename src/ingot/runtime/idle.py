"""Releases large memory that runs keep for the next run, once it was unused for a while. A daemon
thread checks every few seconds and exists only while large memory is kept; no call waits for it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

KEEP = 10.0
"""Seconds for which unused memory is kept."""

Release = Callable[[float], bool]
"""Releases memory last used before this time; True if any is still kept."""


class Sweeper:
    def __init__(self) -> None:
        self.releases: list[Release] = []
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Starts the thread: large memory is kept from now on."""
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
        # Memory kept since the last sweep may have found this thread still set, but about to end.
        if self.sweep(time.monotonic() - KEEP):
            self.wake()

    def forget_thread(self) -> None:
        """The thread does not exist in the child of a fork."""
        self._thread = None


sweeper = Sweeper()
os.register_at_fork(after_in_child=sweeper.forget_thread)
