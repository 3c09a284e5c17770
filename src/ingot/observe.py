"""Compiled programs, for `explain` and the tests to listen to; each stage's text, where it is to be
written."""

from __future__ import annotations

from pathlib import Path

from ingot.listeners import Listeners
from ingot.options import Options
from ingot.stages import Compiled

_programs: Listeners[Compiled] = Listeners()
listening = _programs.listening


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
