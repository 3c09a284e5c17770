"""The journal: what each step did to a program, in order. Comes in: a step's name, its time, the
number of nodes before and after, and the reasons it gives; goes out: the same, as a frozen record
that travels with the Program into the report. A journal is never changed: `with_entry` returns a
longer one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One step."""

    name: str
    """The pass's or stage's own name."""
    ms: float
    """Wall time it took."""
    nodes_before: int
    nodes_after: int
    notes: tuple[str, ...] = ()
    """What it did and why, one short line each, in the order it was done."""

    def as_text(self) -> str:
        head = f"{self.name}: {self.nodes_before} -> {self.nodes_after} nodes, {self.ms:.1f} ms"
        return "\n".join([head, *(f"  {note}" for note in self.notes)])


@dataclass(frozen=True)
class Journal:
    """Every step so far, oldest first."""

    entries: tuple[Entry, ...] = ()

    def with_entry(self, entry: Entry) -> Journal:
        return Journal((*self.entries, entry))

    def total_ms(self) -> float:
        return sum(entry.ms for entry in self.entries)

    def as_text(self) -> str:
        return "\n".join(entry.as_text() for entry in self.entries)
