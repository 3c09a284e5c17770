"""The roofs of the roofline: what this machine does at best with the current number of threads,
measured once per process in about a third of a second. Noise only lowers a rate, so the best of
many short runs is taken.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import torch

from ingot.explain.records import Document, Roofline
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


def reaching(roofs: Roofline, document: Document) -> Roofline:
    """The roofs, raised to what a step of the document achieved: other threads may have slowed the
    measurement, and a matmul of a better shape or a smaller dtype is faster than the one timed."""
    gflop, memory, in_cache = [roofs.gflop_per_s], [roofs.gb_per_s], [roofs.cache_gb_per_s]
    for step in (step for graph in document.graphs for step in graph.steps if step.ms > 0):
        if step.flops is not None:
            gflop.append(step.flops / step.ms / 1e6)
        if step.bytes is not None:
            fits = step.bytes <= document.host.cache_bytes
            (in_cache if fits else memory).append(step.bytes / step.ms / 1e6)
    return Roofline(max(memory), max(in_cache), max(gflop))


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
