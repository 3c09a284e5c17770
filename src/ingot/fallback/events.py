"""Fallback events, which `explain` and the tests listen to."""

from __future__ import annotations

from dataclasses import dataclass

from ingot.listeners import Listeners


@dataclass(frozen=True)
class Fallback:
    """A failure of the compiler that PyTorch's kernels compensated for."""

    stage: str
    """The stage that failed: capture, passes, fuse, plan …"""
    scope: str
    """What runs through PyTorch's kernels, or is skipped, as a result."""
    reason: str
    reproducer: str
    """The script that repeats the failure; empty if none could be written."""

    def __str__(self) -> str:
        path = f" (reproducer: {self.reproducer})" if self.reproducer else ""
        return f"{self.scope}, because {self.stage} failed: {self.reason}{path}"


_fallbacks: Listeners[Fallback] = Listeners()
listening = _fallbacks.listening
fell_back = _fallbacks.tell
