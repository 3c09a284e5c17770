"""Fair timing on a machine that is not idle. Comes in: named callables; goes out: milliseconds for
each, measured in turns in one run, so that what slows the machine down slows all of them down.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def timed_ms(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def medians_ms(
    contenders: Mapping[str, Callable[[], object]], *, rounds: int, warmup: int = 2
) -> dict[str, float]:
    """The median of `rounds` calls of each contender; a round calls each of them once, in order."""
    for call in contenders.values():
        for _ in range(warmup):
            call()
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, call in contenders.items():
            samples[name].append(timed_ms(call))
    return {name: statistics.median(values) for name, values in samples.items()}
