"""Who wants to know what was compiled. `explain` and the tests listen here while they run; nothing
else does, and with no listener this costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ingot.options import Options
from ingot.stages import Compiled

_listeners: list[Callable[[Compiled], None]] = []


def compiled(result: Compiled, options: Options) -> None:
    for listener in _listeners:
        listener(result)
    if options.dump:
        _dump(result, Path(options.dump))


@contextmanager
def listening(listener: Callable[[Compiled], None]) -> Iterator[None]:
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


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
