"""Registration of attacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files import File

Make = Callable[[Path, Path], None]
"""(valid file, file to write)."""


@dataclass(frozen=True)
class Attack:
    name: str
    victim: str
    names: str
    """A regular expression for the error message."""
    make: Make


ATTACKS: list[Attack] = []


def code(canary: Path) -> str:
    return f"__import__('os').system('touch {canary}')"


def attack(names: str, victim: str = "static") -> Callable[[Any], Any]:
    """Register a function that changes a File, or that writes the attacked file itself."""

    def add(change: Callable[..., Any]) -> Callable[..., Any]:
        def make(source: Path, target: Path) -> None:
            file = File.read(source)
            if change.__code__.co_argcount == 2:
                change(file, target)
            else:
                change(file)
                file.write(target)

        ATTACKS.append(Attack(change.__name__, victim, names, make))
        return change

    return add


def canary_of(target: Path) -> Path:
    return target.parent / "canary"


def edited(change: Callable[[File, str], None]) -> Callable[[File, Path], None]:
    """Insert code that creates the canary file if it is run."""

    def write(file: File, target: Path) -> None:
        change(file, code(canary_of(target)))
        file.write(target)

    write.__name__ = change.__name__
    return write
