"""What a command is doing, on standard error: after two seconds, only in a terminal, and gone when
it is done.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

AFTER_S = 2.0


class Step(Protocol):
    def __call__(
        self, text: str | None = None, *, done: float | None = None, total: float | None = None
    ) -> None:
        """Changes the text; with `done` of `total`, shows a bar."""


@contextmanager
def progress(text: str) -> Iterator[Step]:
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _silent
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    live = Progress(*columns, console=console, transient=True)
    task = live.add_task(text, total=None)

    def step(
        text: str | None = None, *, done: float | None = None, total: float | None = None
    ) -> None:
        live.update(task, description=text, completed=done, total=total)

    timer = threading.Timer(AFTER_S, live.start)
    timer.daemon = True
    timer.start()
    try:
        yield step
    finally:
        timer.cancel()
        timer.join()
        live.stop()


def _silent(
    text: str | None = None, *, done: float | None = None, total: float | None = None
) -> None:
    pass
