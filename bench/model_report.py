"""The results of `models.py` as markdown and as JSON: the table of times, the ratio of the fastest
peer's time to ingot's (above one: ingot is faster), the share of the GEMM rate and cold first
calls; below the table, each bar with whether it is met, and why contenders are missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass

from ingot.bench.table import aligned, geometric_mean, met, number

AHEAD = "ingot ahead"
"""The same network by `ingot.compile`, called without torch.compile's guards, like the runtimes."""
PEERS = ("eager", "inductor", "inductor frozen", "onnxruntime", "openvino")
MEAN_BAR, MEAN_AIM = 1.0, 1.15
RATIO_BAR = 0.9
GEMM_BAR = 0.85
COLD_BAR = 0.25
GEMM_BOUND = ("bert-base", "opt-125m", "gpt2", "llama-8x768", "t5-small", "vit-b16")
"""Networks that spend nearly all their operations in large matmuls."""


@dataclass(frozen=True)
class Row:
    """One measured network."""

    network: str
    ms: dict[str, float]
    """The median of each contender that ran."""
    spread: float
    """The widest interquartile range among them, relative to the median."""
    missing: dict[str, str]
    """Why the others did not run."""
    cold_s: dict[str, float]
    """Seconds of the first call in a new process with empty caches, minus a later call."""
    gflop: float | None
    """Operations of one call."""
    gemm_gflops: float | None
    """The best rate of a large matmul, in turns with the contenders."""
    command: str
    """The command that measured it, and its commit."""

    def fastest_peer(self) -> str | None:
        return min((p for p in PEERS if p in self.ms), key=lambda p: self.ms[p], default=None)

    def ratio(self, ours: str = "ingot") -> float | None:
        """Speed of ingot relative to the fastest peer."""
        peer = self.fastest_peer()
        return self.ms[peer] / self.ms[ours] if peer and ours in self.ms else None

    def gemm_share(self) -> float | None:
        if "ingot" not in self.ms or not self.gflop or not self.gemm_gflops:
            return None
        return self.gflop / (self.ms["ingot"] / 1e3) / self.gemm_gflops

    def cold_ratio(self) -> float | None:
        if not {"ingot", "inductor"} <= self.cold_s.keys():
            return None
        return self.cold_s["ingot"] / self.cold_s["inductor"]


HEADINGS = [
    "network, ms",
    *PEERS,
    "ingot",
    AHEAD,
    "fastest peer / ingot",
    "fastest peer / ahead",
    "spread %",
    "% of GEMM rate",
    "inductor cold s",
    "ingot cold s",
    "cold ratio",
]


def cells(row: Row) -> list[str]:
    share = row.gemm_share()
    return [
        row.network,
        *(time_text(row.ms.get(name)) for name in (*PEERS, "ingot", AHEAD)),
        number(row.ratio(), ".2f"),
        number(row.ratio(AHEAD), ".2f"),
        number(100 * row.spread, ".0f"),
        number(None if share is None else 100 * share, ".0f"),
        *(number(row.cold_s.get(name), ".1f") for name in ("inductor", "ingot")),
        number(row.cold_ratio(), ".2f"),
    ]


def time_text(ms: float | None) -> str:
    return number(ms, ".3f" if ms is not None and ms < 1 else ".1f")


def as_markdown(rows: list[Row]) -> str:
    lines = aligned([HEADINGS, *(cells(row) for row in rows)])
    lines += ["", *verdicts(rows)]
    absent = [f"- {r.network}, {name}: {why}" for r in rows for name, why in r.missing.items()]
    if absent:
        lines += ["", "Did not run:", "", *absent]
    return "\n".join(lines) + "\n"


def verdicts(rows: list[Row]) -> list[str]:
    """A line for each bar."""
    ratios = {row.network: row.ratio() for row in rows}
    mean = geometric_mean([ratio for ratio in ratios.values() if ratio is not None])
    ahead = [ratio for row in rows if (ratio := row.ratio(AHEAD)) is not None]
    shares = {row.network: row.gemm_share() for row in rows if row.network in GEMM_BOUND}
    cold = {row.network: row.cold_ratio() for row in rows}
    ran = sum(ratio is not None for ratio in ratios.values())
    return [
        f"- Geometric mean of fastest peer / ingot over {ran} of {len(rows)} networks: {mean:.2f} "
        f"(bar {MEAN_BAR}, {met(mean >= MEAN_BAR)}; aim {MEAN_AIM}, {met(mean >= MEAN_AIM)})",
        f"- The same ahead of time, over {len(ahead)}: {geometric_mean(ahead):.2f} (no bar)",
        bar_line(
            f"Networks below {RATIO_BAR} of the fastest peer", ratios, lambda r: r < RATIO_BAR
        ),
        bar_line(
            f"GEMM-bound networks below {GEMM_BAR:.0%} of the GEMM rate",
            shares,
            lambda share: share < GEMM_BAR,
        ),
        bar_line(f"Cold first calls above {COLD_BAR} of Inductor's", cold, lambda r: r > COLD_BAR),
    ]


def bar_line(text: str, values: dict[str, float | None], breaks: Callable[[float], bool]) -> str:
    """The networks that miss a bar; one without a value misses it as well."""
    broken = [
        f"{name} {number(value, '.2f')}"
        for name, value in values.items()
        if value is None or breaks(value)
    ]
    return f"- {text}: {', '.join(broken) or 'none'} (bar: none, {met(not broken)})"


def as_json(rows: list[Row]) -> str:
    return json.dumps({"rows": [asdict(row) for row in rows]}, indent=1) + "\n"


def from_json(text: str) -> list[Row]:
    return [Row(**entry) for entry in json.loads(text)["rows"]]
