"""Arena layout: gives each value that lives only inside a run an offset in one block. Two values
alive at the same step never overlap; offsets are multiples of a cache line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LINE = 64


@dataclass(frozen=True)
class Lifetime:
    first: int
    last: int
    size: int


def arranged(lives: Sequence[Lifetime]) -> tuple[list[int], int]:
    """Returns (offsets, total bytes). Greedy: the largest first, each at the lowest offset that is
    free for its whole lifetime."""
    offsets = [0] * len(lives)
    placed: list[int] = []
    total = 0
    for number in sorted(range(len(lives)), key=lambda i: -lives[i].size):
        life = lives[number]
        size = -(-life.size // LINE) * LINE
        beside = sorted(
            (offsets[other], lives[other].size)
            for other in placed
            if lives[other].first <= life.last and life.first <= lives[other].last
        )
        at = 0
        for start, length in beside:
            if start - at >= size:
                break
            at = max(at, -(-(start + length) // LINE) * LINE)
        offsets[number] = at
        placed.append(number)
        total = max(total, at + size)
    return offsets, total
