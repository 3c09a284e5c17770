"""The roofs of the roofline: what this machine does at best with the current number of threads,
measured once per process in about a third of a second. Noise only lowers a rate, so the best of
many short runs is taken.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import torch

from ingot.explain.records import Roofline
from ingot.machine import this_machine

CACHE_BYTES = 512 << 10
REPEATS = 8
"""Reads of the small tensor in one run; a single one is too short for the clock."""
SIDE = 512
"""Of the square matrices whose product is timed."""
SECONDS = 0.08
"""Time for the runs of each measurement."""


def roofline() -> Roofline:
    return _measured(torch.get_num_threads())


@cache
def _measured(threads: int) -> Roofline:
    with torch.no_grad():
        return Roofline(
            gb_per_s=_read_rate(max(64 << 20, 2 * this_machine().l3_bytes), 1),
            cache_gb_per_s=_read_rate(CACHE_BYTES, REPEATS),
            gflop_per_s=_matmul_rate(),
        )


def _read_rate(size: int, repeats: int) -> float:
    tensor = torch.ones(size // 4)

    def read() -> None:
        for _ in range(repeats):
            tensor.sum()

    return size * repeats / _fastest(read) / 1e9


def _matmul_rate() -> float:
    left = torch.ones(SIDE, SIDE)
    out = torch.empty(SIDE, SIDE)
    return 2 * SIDE**3 / _fastest(lambda: torch.mm(left, left, out=out)) / 1e9


def _fastest(run: Callable[[], object]) -> float:
    run()
    best, end = float("inf"), time.perf_counter() + SECONDS
    while (start := time.perf_counter()) < end:
        run()
        best = min(best, time.perf_counter() - start)
    return best
