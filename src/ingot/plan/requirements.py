"""The check of a plan's conditions on sizes against the sizes of a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import sympy

from ingot.errors import InputError
from ingot.plan.ir import Affine, Iteration, Quotient, Remainder, Requirement
from ingot.program.shapes import Size

Values = Mapping[sympy.Symbol, int]


def check(required: Requirement, values: Values) -> None:
    low, high = _extremes(required.index, values)
    size = _number(required.size, values)
    if low <= high and not (low >= 0 and high < size):
        raise InputError(
            f"with these sizes {required.subject} would read element "
            f"{high if high >= size else low} of a dimension of {size}",
            place=required.place,
            hints=["compile it with arguments like these as well"],
        )


def sizes_of(required: Requirement) -> Iterator[Size]:
    """All sizes in the requirement."""
    yield required.size
    yield from _sizes(required.index)


def _sizes(index: Affine) -> Iterator[Size]:
    yield index.constant
    for factor, term in index.terms:
        yield factor
        if isinstance(term, Iteration):
            yield term.size
        else:
            yield term.by
            yield from _sizes(term.of)


def _number(size: Size, values: Values) -> int:
    return size if isinstance(size, int) else int(size.xreplace(values))


def _extremes(index: Affine, values: Values) -> tuple[int, int]:
    """The least and the greatest value; the first exceeds the second if the range is empty."""
    low = high = _number(index.constant, values)
    for factor, term in index.terms:
        by = _number(factor, values)
        least, most = _range(term, values)
        if most < least:
            return 1, 0
        low, high = low + min(by * least, by * most), high + max(by * least, by * most)
    return low, high


def _range(term: Iteration | Quotient | Remainder, values: Values) -> tuple[int, int]:
    if isinstance(term, Iteration):
        return 0, _number(term.size, values) - 1
    least, most = _extremes(term.of, values)
    step = _number(term.by, values)
    if most < least or step <= 0:
        return 1, 0  # a dimension without elements has no index
    if isinstance(term, Quotient):
        return least // step, most // step
    if least // step == most // step:
        return least % step, most % step
    return 0, step - 1
