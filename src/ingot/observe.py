"""Events that `explain` and the tests listen to: programs and fallbacks here, recompilations by the
same class. Without a listener they cost nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from ingot.options import Options
from ingot.stages import Compiled

T = TypeVar("T")


class Listeners(Generic[T]):
    """Who is told of an event. A listener hears of what its own thread does."""

    def __init__(self) -> None:
        self._entries: list[tuple[int, Callable[[T], object]]] = []

    def tell(self, event: T) -> None:
        for thread, listener in list(self._entries):
            if thread == threading.get_ident():
                listener(event)

    @contextmanager
    def listening(self, listener: Callable[[T], object]) -> Iterator[None]:
        entry = (threading.get_ident(), listener)
        self._entries.append(entry)
        try:
            yield
        finally:
            self._entries.remove(entry)


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


_programs: Listeners[Compiled] = Listeners()
_fallbacks: Listeners[Fallback] = Listeners()
listening = _programs.listening
listening_to_fallbacks = _fallbacks.listening
fell_back = _fallbacks.tell


def compiled(result: Compiled, options: Options) -> None:
    _programs.tell(result)
    if options.dump:
        _dump(result, Path(options.dump))


def _dump(result: Compiled, folder: Path) -> None:
    """Every stage's text under a name of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    number = len(list(folder.glob("*.program.txt")))
    texts = {
        "program.txt": result.fused.program.as_text(),
        "fused.txt": result.fused.as_text(),
        "runner.py": result.source,
    }
    for name, text in texts.items():
        (folder / f"{number:03d}.{name}").write_text(text + "\n")
