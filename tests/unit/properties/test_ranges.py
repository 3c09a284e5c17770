"""Ranges of sizes and tables from boxes to implementations, against the sets of sizes that they
represent."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.dispatch.ranges import (
    Range,
    RangeError,
    RangeTable,
    Row,
    boxes,
    check_disjoint,
    ranges_from,
)

from .drawn import examples

SIZES = range(14)
"""Range bounds are sampled below 12; the two larger sizes test unbounded ranges."""

bounds = st.lists(st.integers(0, 11), min_size=1, max_size=4)


@st.composite
def ranges(draw: st.DrawFn) -> Range:
    low = draw(st.integers(0, 11))
    return Range(low, draw(st.none() | st.integers(low, 11)))


def held(part: Range) -> set[int]:
    return {
        size
        for size in SIZES
        if part.low <= size <= (SIZES[-1] if part.high is None else part.high)
    }


@examples()
@given(ranges(), ranges())
def test_ranges_are_sets_of_sizes(one: Range, other: Range) -> None:
    assert held(one) == {size for size in SIZES if size in one}
    assert one.meets(other) == other.meets(one) == bool(held(one) & held(other))
    alone = held(one) - {0}
    assert one.only() == (alone.pop() if len(alone) == 1 and one.high is not None else None)


@examples()
@given(bounds)
def test_bounds_part_all_sizes(given_bounds: list[int]) -> None:
    if given_bounds != sorted(set(given_bounds)):
        with pytest.raises(RangeError, match="not sorted"):
            ranges_from(given_bounds)
        return
    parts = ranges_from(given_bounds)
    for size in SIZES:
        assert sum(size in part for part in parts) == 1
    assert [part.high for part in parts] == [*given_bounds, None]


pairs = st.tuples(st.integers(0, 8), st.none() | st.integers(0, 8))
runs = st.lists(st.integers(1, 3), min_size=1, max_size=4)


@examples(2)
@given(st.lists(pairs, min_size=1, max_size=3))
def test_pairs_are_taken_where_they_follow_each_other(given_pairs: list[tuple[int, int]]) -> None:
    follow = all(
        high is not None and after == high + 1
        for (_, high), (after, _) in itertools.pairwise(given_pairs)
    )
    if follow and all(high is None or low <= high for low, high in given_pairs):
        assert [(part.low, part.high) for part in ranges_from(given_pairs)] == given_pairs
    else:
        with pytest.raises(RangeError):
            ranges_from(given_pairs)


@examples()
@given(st.integers(0, 4), runs, st.booleans())
def test_pairs_that_follow_each_other_cover_without_gaps(
    low: int, lengths: list[int], has_bound: bool
) -> None:
    starts = list(itertools.accumulate(lengths, initial=low))
    found: list[tuple[int, int | None]] = [(a, b - 1) for a, b in itertools.pairwise(starts)]
    if not has_bound:
        found[-1] = (found[-1][0], None)
    parts = ranges_from(found)
    last = starts[-1] if has_bound else SIZES[-1] + 1
    assert [sum(size in part for part in parts) for size in SIZES] == [
        int(low <= size < last) for size in SIZES
    ]


@st.composite
def tables(draw: st.DrawFn) -> RangeTable:
    """A subset of the boxes of a grid, served by few candidates."""
    parts = [ranges_from(sorted(set(draw(bounds)))) for _ in range(draw(st.integers(1, 2)))]
    rows = [
        Row(box, draw(st.sampled_from("abc")), draw(st.sampled_from([0.5, 0.75, 1.0])))
        for box in boxes(parts)
        if draw(st.integers(0, 5))
    ]
    return RangeTable(tuple(draw(st.permutations(rows))))


def served(table: RangeTable, sizes: tuple[int, ...]) -> str | None:
    """By definition: the row whose box contains the sizes."""
    for row in table.rows:
        if all(size in held(part) for size, part in zip(sizes, row.box, strict=True)):
            return row.serves
    return None


@examples()
@given(tables())
def test_merging_changes_no_answer(table: RangeTable) -> None:
    if not table.rows:
        assert table.merged() == table
        return
    merged = table.merged()
    assert len(merged.rows) <= len(table.rows)
    assert merged.merged() == merged
    check_disjoint(row.box for row in merged.rows)
    rank = len(table.rows[0].box)
    for sizes in itertools.product(SIZES, repeat=rank):
        before, after = table.row(sizes), merged.row(sizes)
        assert (before is None) == (after is None)
        if before is not None and after is not None:
            assert before.serves == after.serves == served(table, sizes)
            assert after.confidence <= before.confidence
    for one, other in itertools.combinations(merged.rows, 2):
        assert not (one.serves == other.serves and touch(one, other)), "one box could do"


def touch(one: Row, other: Row) -> bool:
    """Whether the union of the two boxes is a box."""
    differing = [(a, b) for a, b in zip(one.box, other.box, strict=True) if a != b]
    if len(differing) != 1:
        return False
    a, b = differing[0]
    return a.high == b.low - 1 or b.high == a.low - 1


@examples()
@given(st.lists(st.tuples(ranges(), ranges()), max_size=4))
def test_boxes_overlap_where_they_share_sizes(found: list[tuple[Range, Range]]) -> None:
    shared = any(
        held(a) & held(c) and held(b) & held(d)
        for (a, b), (c, d) in itertools.combinations(found, 2)
    )
    if shared:
        with pytest.raises(RangeError, match="overlap"):
            check_disjoint(found)
    else:
        check_disjoint(found)
