"""What measuring the implementations of an op gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ingot.dispatch.ranges import RangeTable


@dataclass(frozen=True)
class Sample:
    """Timings at one size."""

    sizes: tuple[int, ...]
    seconds: Mapping[str, float]
    """By candidate."""


@dataclass(frozen=True)
class TuningRecord:
    setting: str
    table: RangeTable
    samples: tuple[Sample, ...] = ()
    disqualified: Mapping[str, str] = field(default_factory=dict)
    """Excluded candidates, and why."""

    def joined(self, other: TuningRecord) -> TuningRecord:
        """With the rows and samples of the other record, which are newer."""
        new = {row.box for row in other.table.rows}
        rows = [*(row for row in self.table.rows if row.box not in new), *other.table.rows]
        rows.sort(key=lambda row: [part.low for part in row.box])
        sizes = {sample.sizes for sample in other.samples}
        samples = [*(s for s in self.samples if s.sizes not in sizes), *other.samples]
        return TuningRecord(
            self.setting,
            RangeTable(tuple(rows)),
            tuple(sorted(samples, key=lambda s: s.sizes)),
            {**self.disqualified, **other.disqualified},
        )
