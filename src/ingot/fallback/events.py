"""Fallbacks, for `explain` and the tests to listen to."""

from __future__ import annotations

from dataclasses import dataclass

from ingot.listeners import Listeners


@dataclass(frozen=True)
class Fallback:
    """A failure of the compiler's that PyTorch's kernels made up for."""

    stage: str
    """Which failed: capture, passes, fuse, plan …"""
    scope: str
    """What runs through PyTorch's kernels, or is left undone, in place of what was meant."""
    reason: str
    reproducer: str
    """The folder that repeats the failure; empty where none could be written."""

    def __str__(self) -> str:
        path = f" (reproducer: {self.reproducer})" if self.reproducer else ""
        return f"{self.scope}, because {self.stage} failed: {self.reason}{path}"


_fallbacks: Listeners[Fallback] = Listeners()
listening = _fallbacks.listening
fell_back = _fallbacks.tell
