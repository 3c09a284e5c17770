"""Evaluates the times of two commits: ratios, their geometric means, and whether the newer one lost
speed. A ratio is the base's time divided by the time here: above one, here is faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ingot.bench.table import aligned, geometric_mean, number

MEAN_BAR = 0.98
"""Minimum geometric mean of a benchmark: a loss that many rows share is real at 2 %."""
ROW_BAR = 0.93
"""A row below it is slow: medians of equal code differ by up to about 7 % on a busy machine."""


@dataclass(frozen=True)
class Side:
    """One commit's part in a row."""

    ms: float | None
    spread: float = 0.0
    missing: str = ""
    """The reason for a missing time."""


@dataclass(frozen=True)
class Pair:
    """A row, measured once for both commits."""

    benchmark: str
    row: str
    base: Side
    here: Side

    @property
    def ratio(self) -> float | None:
        if self.base.ms is None or self.here.ms is None:
            return None
        return self.base.ms / self.here.ms

    @property
    def is_slow(self) -> bool:
        return self.ratio is not None and self.ratio < ROW_BAR

    @property
    def is_broken(self) -> bool:
        """It ran at the base and fails here."""
        return self.here.ms is None and self.base.ms is not None

    def cells(self) -> list[str]:
        return [
            self.row,
            time_text(self.base.ms),
            time_text(self.here.ms),
            number(self.ratio, ".3f"),
            f"{max(self.base.spread, self.here.spread):.0%}",
        ]


Run = Sequence[Pair]
"""Every row, measured once."""


@dataclass(frozen=True)
class Verdict:
    means: dict[str, float]
    """The geometric mean of all ratios of a benchmark."""
    slow: list[str]
    """Rows that are slow in most runs."""
    broken: list[str]
    """Rows that ran at the base in some run, and failed here."""

    @property
    def holds(self) -> bool:
        return not self.slow and not self.broken and all(m >= MEAN_BAR for m in self.means.values())


def verdict_of(runs: Sequence[Run]) -> Verdict:
    pairs = [pair for run in runs for pair in run]
    ratios: dict[str, list[float]] = {}
    for pair in pairs:
        if pair.ratio is not None:
            ratios.setdefault(pair.benchmark, []).append(pair.ratio)
    times_slow: dict[str, int] = {}
    for pair in pairs:
        name = f"{pair.benchmark}: {pair.row}"
        times_slow[name] = times_slow.get(name, 0) + pair.is_slow
    return Verdict(
        {benchmark: geometric_mean(values) for benchmark, values in ratios.items()},
        [name for name, count in times_slow.items() if 2 * count > len(runs)],
        list(dict.fromkeys(f"{p.benchmark}: {p.row}" for p in pairs if p.is_broken)),
    )


def time_text(ms: float | None) -> str:
    if ms is None:
        return "–"
    if ms < 1:
        return f"{ms * 1e3:.2f} µs"
    return f"{ms:.2f} ms" if ms < 1e3 else f"{ms / 1e3:.2f} s"


def tables(run: Run) -> list[str]:
    """One table for each benchmark, and the reasons for missing times."""
    lines: list[str] = []
    for benchmark in dict.fromkeys(pair.benchmark for pair in run):
        pairs = [pair for pair in run if pair.benchmark == benchmark]
        header = [benchmark, "base", "here", "base / here", "spread"]
        lines += [*aligned([header, *(pair.cells() for pair in pairs)]), ""]
        sides = [
            (p.row, name, s) for p in pairs for name, s in (("base", p.base), ("here", p.here))
        ]
        lines += [f"- {row}, {name}: {s.missing}" for row, name, s in sides if s.missing]
    return lines


def verdict_lines(verdict: Verdict, runs: int) -> list[str]:
    most = f"in at least {runs // 2 + 1} of {runs} runs" if runs > 1 else "in this run"
    means = [
        f"- {name}: geometric mean {mean:.3f} (bar {MEAN_BAR})"
        for name, mean in verdict.means.items()
    ]
    slow = [f"- below {ROW_BAR} {most}: {row}" for row in verdict.slow]
    broken = [f"- ran at the base, fails here: {row}" for row in verdict.broken]
    end = "No loss of speed." if verdict.holds else "Speed was lost."
    return [*means, *slow, *broken, "", end]
