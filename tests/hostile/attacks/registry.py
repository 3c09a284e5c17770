"""How an attack is declared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files import File

Make = Callable[[Path, Path], None]
"""From a good file to the bad one."""


@dataclass(frozen=True)
class Attack:
    name: str
    victim: str
    names: str
    """A regular expression that the message has to match."""
    make: Make


ATTACKS: list[Attack] = []


def code(canary: Path) -> str:
    return f"__import__('os').system('touch {canary}')"


def attack(names: str, victim: str = "static") -> Callable[[Any], Any]:
    """A function that changes a File, or that writes one."""

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
    """With code that leaves a trace."""

    def write(file: File, target: Path) -> None:
        change(file, code(canary_of(target)))
        file.write(target)

    write.__name__ = change.__name__
    return write
