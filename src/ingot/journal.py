"""The journal: what each step did to a program, in order. An entry holds a step's name, its time,
the number of nodes before and after, and its reasons; the journal travels with the Program into the
report. It is immutable: `with_entry` returns a longer one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class JournalEntry:
    """One pass or stage."""

    name: str
    """The name of the pass or stage."""
    ms: float
    """Wall time in milliseconds."""
    nodes_before: int
    nodes_after: int
    notes: tuple[str, ...] = ()
    """What it did and why, one short line each, in order."""
    within: str = ""
    """The control-flow body that it worked on, such as `cond/0`; empty for the program itself."""

    def as_text(self) -> str:
        name = f"{self.within}: {self.name}" if self.within else self.name
        head = f"{name}: {self.nodes_before} -> {self.nodes_after} nodes, {self.ms:.1f} ms"
        return "\n".join([head, *(f"  {note}" for note in self.notes)])


@dataclass(frozen=True)
class Journal:
    """Every step so far, oldest first."""

    entries: tuple[JournalEntry, ...] = ()

    def with_entry(self, entry: JournalEntry) -> Journal:
        return Journal((*self.entries, entry))

    def total_ms(self) -> float:
        return sum(entry.ms for entry in self.entries)

    def as_text(self) -> str:
        return "\n".join(entry.as_text() for entry in self.entries)
