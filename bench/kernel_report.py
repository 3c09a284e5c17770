"""The results of `kernels.py` as markdown and as JSON.

The table has the times, the ratios to Inductor and to the faster of eager and Inductor, and for the
same kernel called ahead of time its bandwidth and its speed relative to a copy. The geometric means
of the ratios and the rows below the bars follow. A ratio above one means that ingot is faster.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from ingot.bench.table import aligned, geometric_mean, number

BAR = 0.9
COPY_BAR = 0.8
AHEAD = "ahead of time"
"""The same kernel by `ingot.compile`, without torch.compile's guards."""
GUARDS = "guards"
"""The cost of any call through torch.compile, in the caches that the kernel leaves."""


@dataclass(frozen=True)
class Result:
    """One measured row."""

    label: str
    """Name, dtype and size."""
    bound: str
    """"memory" or "math"."""
    bytes_moved: int
    """Inputs read and results written, once each."""
    us: dict[str, float]
    """Microseconds per call: eager, inductor, ingot, AHEAD, GUARDS, copy; a contender with wrong
    results is missing."""
    wrong: dict[str, str]
    """The error, by contender."""

    def ratio(self, against: str) -> float | None:
        """Speed of ingot relative to `against`."""
        if "ingot" not in self.us or against not in self.us:
            return None
        return self.us[against] / self.us["ingot"]

    def ratio_to_faster(self) -> float | None:
        others = [self.us[name] for name in ("eager", "inductor") if name in self.us]
        return min(others) / self.us["ingot"] if "ingot" in self.us else None

    def gigabytes_per_s(self) -> float | None:
        return self.bytes_moved / self.us[AHEAD] / 1e3 if AHEAD in self.us else None

    def share_of_copy(self) -> float | None:
        """Bandwidth relative to a copy of as many bytes; for memory-bound rows only."""
        if self.bound != "memory" or AHEAD not in self.us:
            return None
        return self.us["copy"] / self.us[AHEAD]

    def guards_and_eager(self) -> str:
        alone = f", kernel alone {self.us[AHEAD]:.1f} µs" if AHEAD in self.us else ""
        return f"guards {self.us[GUARDS]:.1f} µs{alone}, eager {self.us['eager']:.1f} µs"

    def line(self) -> str:
        times = ", ".join(f"{name} {us:.1f}" for name, us in self.us.items())
        problems = "; ".join(f"{name} WRONG: {what}" for name, what in self.wrong.items())
        return f"{self.label}: {times} µs" + (f"; {problems}" if problems else "")


@dataclass(frozen=True)
class Summary:
    """Statistics of all rows."""

    to_inductor: float
    to_faster: float
    below_bar: list[Result]
    wrong: list[Result]


def summary(results: list[Result]) -> Summary:
    to_inductor = [r for result in results if (r := result.ratio("inductor")) is not None]
    to_faster = [r for result in results if (r := result.ratio_to_faster()) is not None]
    below = [r for r in results if (ratio := r.ratio_to_faster()) is not None and ratio < BAR]
    below.sort(key=lambda result: result.ratio_to_faster() or 0.0)
    wrong = [result for result in results if result.wrong]
    return Summary(geometric_mean(to_inductor), geometric_mean(to_faster), below, wrong)


def cells(result: Result) -> list[str]:
    share = result.share_of_copy()
    return [
        result.label,
        *(number(result.us.get(name), ".1f") for name in ("eager", "inductor", "ingot", AHEAD)),
        number(result.ratio("inductor"), ".2f"),
        number(result.ratio_to_faster(), ".2f"),
        number(result.gigabytes_per_s(), ".1f"),
        number(None if share is None else 100 * share, ".0f"),
    ]


HEADINGS = [
    "kernel, dtype, size",
    "eager µs",
    "inductor µs",
    "ingot µs",
    "ahead of time µs",
    "× inductor",
    "× faster of both",
    "GB/s",
    "% of copy",
]


def as_markdown(results: list[Result]) -> str:
    lines = aligned([HEADINGS, *(cells(result) for result in results)])
    total = summary(results)
    lines += [
        "",
        f"Geometric means over {len(results)} rows: {total.to_inductor:.2f} × Inductor, "
        f"{total.to_faster:.2f} × the faster of eager and Inductor.",
        "",
        f"Below {BAR} of the faster: {len(total.below_bar)}",
    ]
    lines += [
        f"- {r.label}: {number(r.ratio_to_faster(), '.2f')} ({r.guards_and_eager()})"
        for r in total.below_bar
    ]
    slow = [r for r in results if (share := r.share_of_copy()) is not None and share < COPY_BAR]
    lines += ["", f"Below {COPY_BAR:.0%} of a copy: {len(slow)}"]
    lines += [f"- {r.label}: {100 * (r.share_of_copy() or 0):.0f} %" for r in slow]
    if total.wrong:
        lines += ["", f"Wrong or failed: {len(total.wrong)}"]
        lines += [f"- {r.label}: {n}: {w}" for r in total.wrong for n, w in r.wrong.items()]
    return "\n".join(lines) + "\n"


def as_json(results: list[Result]) -> str:
    total = summary(results)
    rows = [
        {
            "label": result.label,
            "bound": result.bound,
            "bytes": result.bytes_moved,
            "us": result.us,
            "wrong": result.wrong,
            "to_inductor": result.ratio("inductor"),
            "to_faster": result.ratio_to_faster(),
            "gigabytes_per_s": result.gigabytes_per_s(),
            "share_of_copy": result.share_of_copy(),
        }
        for result in results
    ]
    means = {"to_inductor": total.to_inductor, "to_faster": total.to_faster}
    return json.dumps({"rows": rows, "geometric_means": means}, indent=1) + "\n"
