"""Offsets of buffers in the arena: disjoint, aligned to cache lines, and no larger in total than
their sum."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from ingot.plan.arena import LINE, Lifetime, arranged

from .drawn import examples


@st.composite
def lifetimes(draw: st.DrawFn) -> Lifetime:
    first = draw(st.integers(0, 12))
    last = first + draw(st.sampled_from([0, 0, 1, 2, 5, 12]))
    sizes = st.sampled_from([0, 1, 63, 64, 65, 128, 1000]) | st.integers(0, 5000)
    return Lifetime(first, last, draw(sizes))


def rounded(size: int) -> int:
    return -(-size // LINE) * LINE


@examples(3)
@given(st.lists(lifetimes(), max_size=12))
def test_values_alive_together_lie_apart(lives: list[Lifetime]) -> None:
    offsets, total = arranged(lives)
    assert len(offsets) == len(lives)
    assert all(offset >= 0 and offset % LINE == 0 for offset in offsets)
    placed = list(zip(lives, offsets, strict=True))
    assert all(offset + life.size <= total for life, offset in placed)
    for (one, at), (other, there) in itertools.combinations(placed, 2):
        together = one.first <= other.last and other.first <= one.last
        if together and one.size and other.size:
            assert at + one.size <= there or there + other.size <= at


@examples(2)
@given(st.lists(lifetimes(), max_size=12))
def test_the_total_lies_between_what_is_alive_and_the_sum(lives: list[Lifetime]) -> None:
    _, total = arranged(lives)
    steps = range(max((life.last for life in lives), default=0) + 1)
    alive = [sum(x.size for x in lives if x.first <= step <= x.last) for step in steps]
    assert max(alive) <= total <= sum(rounded(life.size) for life in lives)
    assert total % LINE == 0


@examples()
@given(st.lists(st.integers(1, 500), min_size=1, max_size=10))
def test_values_that_follow_each_other_share_memory(sizes: list[int]) -> None:
    lives = [Lifetime(step, step, size) for step, size in enumerate(sizes)]
    assert arranged(lives) == ([0] * len(sizes), rounded(max(sizes)))
