"""The decisions of kernel selection, which are made while a plan is drafted. They become entries of
the plan's journal, before those of the passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from ingot.plan.passes.base import Notes


@dataclass
class Decisions:
    """What was decided and why, by the kind of decision, in the order in which they are made."""

    fuse_epilogues: Notes = field(default_factory=Notes)
    select_kernels: Notes = field(default_factory=Notes)
    fuse_horizontal: Notes = field(default_factory=Notes)
    choose_variants: Notes = field(default_factory=Notes)

    def copy(self) -> Decisions:
        return Decisions(*(Notes([*getattr(self, each.name).lines]) for each in fields(self)))


def lines_of(versions: Sequence[Decisions], name: str) -> tuple[str, ...]:
    """The notes on one kind of decision, each once. Those of a program with several versions name
    the version."""
    several = len(versions) > 1
    found = (
        f"version {number}: {line}" if several else line
        for number, decisions in enumerate(versions)
        for line in getattr(decisions, name).lines
    )
    return tuple(dict.fromkeys(found))
