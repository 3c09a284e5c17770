"""Fair timing on a machine that is not idle: callables are measured in turns in one run, in
milliseconds. Turns cancel slow drift only. On a busy machine equal calls can differ by far more
than a compiler gains, so every result carries its spread.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial


@dataclass(frozen=True)
class Timing:
    samples: tuple[float, ...]
    """Milliseconds of each timed call, in the order of the rounds."""

    @property
    def median_ms(self) -> float:
        return statistics.median(self.samples)

    @property
    def spread(self) -> float:
        """The interquartile range, relative to the median."""
        low, high = self.quartiles_ms
        return (high - low) / self.median_ms

    @property
    def quartiles_ms(self) -> tuple[float, float]:
        low, _, high = statistics.quantiles(self.samples, n=4)
        return low, high


def timed_ms(call: Callable[[], object], count: int = 1) -> float:
    """Milliseconds per call, `count` calls timed together."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count * 1e3


def calls_per_sample(call: Callable[[], object], seconds: float) -> int:
    """The number of calls that fill a sample of that length."""
    once = max(timed_ms(call) / 1e3, 1e-7)
    return max(1, min(2000, round(seconds / once)))


def time_in_turns(
    contenders: Mapping[str, Callable[[], object]], *, rounds: int, warmup: int = 2
) -> dict[str, Timing]:
    """A round calls each contender once; the order changes from round to round."""
    for call in contenders.values():
        for _ in range(warmup):
            call()
    return sample_in_turns(
        {name: partial(timed_ms, call) for name, call in contenders.items()}, rounds=rounds
    )


def sample_in_turns(
    contenders: Mapping[str, Callable[[], float]], *, rounds: int
) -> dict[str, Timing]:
    """The same for contenders that time themselves: each call returns its own milliseconds."""
    names = list(contenders)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds if names else 0):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            samples[name].append(contenders[name]())
    return {name: Timing(tuple(values)) for name, values in samples.items()}
