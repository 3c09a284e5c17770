"""The number of examples per property, and shared strategies."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import sympy
from hypothesis import settings
from hypothesis import strategies as st

from ingot.fuse.index import Atom, Div, Index, Mod, Var
from ingot.program.shapes import Size

MOST_POINTS = 600
Point = Mapping[Var, int]


def examples(share: float = 1.0) -> settings:
    """A multiple of the number of examples of the loaded profile (tests/conftest.py)."""
    return settings(max_examples=max(1, round(settings.default.max_examples * share)))


def number(size: Size, symbols: Mapping[sympy.Symbol, int] | None = None) -> int:
    """The value of a size."""
    return size if isinstance(size, int) else int(size.xreplace(dict(symbols or {})))


def value(index: Index, point: Point, symbols: Mapping[sympy.Symbol, int] | None = None) -> int:
    """The value of an index by definition: const + sum(coefficient * atom)."""
    return number(index.const, symbols) + sum(
        number(factor, symbols) * atom_value(atom, point, symbols)
        for atom, factor in index.terms.items()
    )


def atom_value(atom: Atom, point: Point, symbols: Mapping[sympy.Symbol, int] | None) -> int:
    if isinstance(atom, Var):
        return point[atom]
    assert isinstance(atom, Div | Mod)
    inner, by = value(atom.index, point, symbols), number(atom.by, symbols)
    return math.floor(sympy.Rational(inner, by)) if isinstance(atom, Div) else inner % by


def points(
    variables: list[Var], symbols: Mapping[sympy.Symbol, int] | None = None
) -> Iterator[dict[Var, int]]:
    """Every point of the domain."""
    ranges = [range(number(var.size, symbols)) for var in variables]
    for at in itertools.product(*ranges):
        yield dict(zip(variables, at, strict=True))


shapes = st.lists(st.sampled_from([0, 1, 1, 2, 2, 3, 4, 5, 6]), max_size=4).filter(
    lambda shape: math.prod(shape) <= MOST_POINTS
)
factors = st.integers(-6, 6)
divisors = st.sampled_from([1, 2, 3, 4, 5, 6, 8, 12])


@st.composite
def factorisations(draw: Any, total: int, most: int = 4) -> list[int]:
    """Sizes with the given product, possibly including ones."""
    sizes: list[int] = []
    rest = total
    for _ in range(draw(st.integers(0, most - 1))):
        size = draw(st.sampled_from([d for d in range(1, rest + 1) if rest % d == 0] or [0, 1, 3]))
        sizes.append(size)
        rest = rest // size if size else 0
    return [*sizes, rest]
