"""Index arithmetic: integer expressions over loop variables and sizes, which say which element of a
buffer a loop iteration accesses. An Index is a sum of atoms with coefficients plus a constant,
always in normal form, immutable and hashable, so that two reads are the same element exactly when
their Indexes are equal. Sizes and coefficients are ints, or sympy expressions where a dimension is
dynamic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sympy

from ingot.program.shapes import Size, same_size


@dataclass(frozen=True, eq=False, slots=True)
class Var:
    """A loop variable: 0 <= var < size."""

    name: str
    size: Size

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Div:
    """floor(index / by)"""

    index: Index
    by: Size

    def __repr__(self) -> str:
        return f"({self.index} // {self.by})"


@dataclass(frozen=True, slots=True)
class Mod:
    """index mod by, never negative"""

    index: Index
    by: Size

    def __repr__(self) -> str:
        return f"({self.index} % {self.by})"


@dataclass(frozen=True, slots=True)
class Gathered:
    """An index read from a tensor: element `at` of `tensor`. `value` is the same as an Expr, known
    to be in 0 … size - 1 when it is used; comparisons ignore it."""

    tensor: Any
    at: tuple[Index, ...]
    size: Size
    safety: tuple[bool, int]
    """Whether a negative index counts from the end, and the error code of one out of range."""
    value: Any = field(compare=False)

    def __repr__(self) -> str:
        return f"[{', '.join(map(str, self.at))}]"

    def substitute(self, values: Mapping[Var, Index]) -> Gathered:
        at = tuple(i.substitute(values) for i in self.at)
        return replace(self, at=at, value=self.value.substitute(values))


Atom = Var | Div | Mod | Gathered


class Index:
    """const + sum(coefficient * atom)."""

    __slots__ = ("_hash", "const", "terms")

    def __init__(self, terms: Mapping[Atom, Size], const: Size = 0):
        self.terms = {atom: c for atom, c in terms.items() if c != 0}
        self.const = const
        self._hash = hash((frozenset(self.terms.items()), const))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Index)
            and self._hash == other._hash
            and self.const == other.const
            and self.terms == other.terms
        )

    def __repr__(self) -> str:
        parts = [f"{c}*{a}" if c != 1 else f"{a}" for a, c in self.terms.items()]
        if self.const != 0 or not parts:
            parts.append(str(self.const))
        return " + ".join(parts)

    def __add__(self, other: Index | Size) -> Index:
        if not isinstance(other, Index):
            return Index(self.terms, self.const + other)
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            terms[atom] = terms.get(atom, 0) + c
        return Index(terms, self.const + other.const)

    def __mul__(self, factor: Size) -> Index:
        if factor == 1:
            return self
        return Index({a: c * factor for a, c in self.terms.items()}, self.const * factor)

    def __sub__(self, other: Index | Size) -> Index:
        return self + (other * -1 if isinstance(other, Index) else -other)

    def __floordiv__(self, by: Size) -> Index:
        if by == 1:
            return self
        if by == 0:
            return ZERO  # in a dimension without elements any index will do
        whole, rest = self._divided(by)
        if not rest.terms and _is_int(rest.const) and _is_int(by):
            return whole + rest.const // by
        if within(rest, by):
            return whole
        inner = rest.as_quotient()
        if inner is not None:
            return whole + inner.index // (inner.by * by)
        return whole + Index({Div(rest, by): 1})

    def __mod__(self, by: Size) -> Index:
        if by == 1 or by == 0:
            return ZERO
        _, rest = self._divided(by)
        if not rest.terms and _is_int(rest.const) and _is_int(by):
            return Index({}, rest.const % by)
        if within(rest, by):
            return rest
        return Index({Mod(rest, by): 1})

    def _divided(self, by: Size) -> tuple[Index, Index]:
        """(whole, rest) with self == by * whole + rest."""
        whole: dict[Atom, Size] = {}
        rest: dict[Atom, Size] = {}
        for atom, c in self.terms.items():
            quotient = exact_quotient(c, by)
            if quotient is None:
                rest[atom] = c
            else:
                whole[atom] = quotient
        if _is_int(self.const) and _is_int(by):
            return Index(whole, self.const // by), Index(rest, self.const % by)
        quotient = exact_quotient(self.const, by)
        if quotient is None:
            return Index(whole), Index(rest, self.const)
        return Index(whole, quotient), Index(rest)

    def substitute(self, values: Mapping[Var, Index]) -> Index:
        """This index with variables replaced, in normal form."""
        if not any(_mentions(atom, values) for atom in self.terms):
            return self
        result = Index({}, self.const)
        for atom, c in self.terms.items():
            result = result + _substitute_atom(atom, values) * c
        return result

    def gathered(self) -> Iterator[Gathered]:
        """The gather atoms in it."""
        for atom in self.terms:
            if isinstance(atom, Gathered):
                yield atom
            elif isinstance(atom, Div | Mod):
                yield from atom.index.gathered()

    def has_gathered(self) -> bool:
        return any(True for _ in self.gathered())

    def map_gathered(self, change: Callable[[Gathered], Gathered]) -> Index:
        """This index with every gather atom replaced."""
        terms: dict[Atom, Size] = {}
        for atom, c in self.terms.items():
            if isinstance(atom, Gathered):
                atom = change(atom)
            elif isinstance(atom, Div):
                atom = Div(atom.index.map_gathered(change), atom.by)
            elif isinstance(atom, Mod):
                atom = Mod(atom.index.map_gathered(change), atom.by)
            terms[atom] = terms.get(atom, 0) + c
        return Index(terms, self.const)

    def variables(self) -> set[Var]:
        found: set[Var] = set()
        for atom in self.terms:
            if isinstance(atom, Var):
                found.add(atom)
            elif isinstance(atom, Div | Mod):
                found |= atom.index.variables()
            else:
                found.update(*(i.variables() for i in atom.at))
        return found

    def as_var(self) -> Var | None:
        """The variable, if this index is one; else None."""
        if self.const == 0 and len(self.terms) == 1:
            ((atom, c),) = self.terms.items()
            if c == 1 and isinstance(atom, Var):
                return atom
        return None

    def as_quotient(self) -> Div | None:
        """The division, if this index is one; else None."""
        if self.const == 0 and len(self.terms) == 1:
            ((atom, c),) = self.terms.items()
            if c == 1 and isinstance(atom, Div):
                return atom
        return None

    def coefficient(self, var: Var) -> Size | None:
        """The change of this index per step of `var`; None if it is not constant."""
        for atom in self.terms:
            if not isinstance(atom, Var) and _mentions(atom, {var: ZERO}):
                return None
        return self.terms.get(var, 0)


ZERO = Index({})


def of(value: Var | Gathered | Size) -> Index:
    if isinstance(value, Var | Gathered):
        return Index({value: 1})
    return Index({}, value)


def _is_int(value: Size) -> bool:
    return isinstance(value, int)


def _mentions(atom: Atom, variables: Mapping[Var, Any]) -> bool:
    if isinstance(atom, Var):
        return atom in variables
    if isinstance(atom, Div | Mod):
        return any(_mentions(a, variables) for a in atom.index.terms)
    return any(_mentions(a, variables) for i in atom.at for a in i.terms)


def _substitute_atom(atom: Atom, values: Mapping[Var, Index]) -> Index:
    if isinstance(atom, Var):
        return values[atom] if atom in values else of(atom)
    if isinstance(atom, Div):
        return atom.index.substitute(values) // atom.by
    if isinstance(atom, Mod):
        return atom.index.substitute(values) % atom.by
    return of(atom.substitute(values))


def exact_quotient(value: Size, by: Size) -> Size | None:
    """value / by if it is an integer for every value of the symbols, else None."""
    if isinstance(value, int) and isinstance(by, int):
        return value // by if value % by == 0 else None
    if isinstance(value, int) and value == 0:
        return 0
    quotient = sympy.cancel(sympy.sympify(value) / by)
    _, denominator = quotient.as_numer_denom()
    if denominator != 1:
        return None
    return int(quotient) if quotient.is_Integer else quotient


def bounds(index: Index) -> tuple[Size, Size] | None:
    """The least and the largest value that `index` can take, or None if they are not known."""
    low = high = index.const
    for atom, c in index.terms.items():
        top = _atom_upper(atom)
        if top is None:
            return None
        if _not_negative(c):
            high = high + c * top
        elif _not_negative(-c):
            low = low + c * top
        else:
            return None
    return low, high


def _atom_upper(atom: Atom) -> Size | None:
    if isinstance(atom, Var | Gathered):
        return atom.size - 1
    if isinstance(atom, Mod):
        return atom.by - 1
    inner = bounds(atom.index)
    if inner is None or not _not_negative(inner[0]):
        return None
    if isinstance(inner[1], int) and isinstance(atom.by, int):
        return inner[1] // atom.by
    return None


def _not_negative(value: Size) -> bool:
    if isinstance(value, int):
        return value >= 0
    return bool(sympy.expand(value).is_nonnegative)


def within(index: Index, size: Size) -> bool:
    """Is 0 <= index < size proven?"""
    known = bounds(index)
    if known is None or not _not_negative(known[0]):
        return False
    if isinstance(known[1], int) and isinstance(size, int):
        return known[1] < size
    return bool(sympy.expand(sympy.sympify(size) - known[1]).is_positive)


def product(sizes: Sequence[Size]) -> Size:
    total: Size = 1
    for size in sizes:
        total = total * size
    return total


def linear(index: Sequence[Index], strides: Sequence[Size], offset: Size = 0) -> Index:
    """The element in memory that `index` addresses."""
    total = of(offset)
    for i, stride in zip(index, strides, strict=True):
        total = total + i * stride
    return total


def reshaped(
    index: Sequence[Index], shape: Sequence[Size], target: Sequence[Size]
) -> tuple[Index, ...] | None:
    """The index in `target` of the element at `index` in `shape`; None if the factors cannot be
    matched.

    Dimensions are matched in the smallest groups of equal size, to avoid needless divisions.
    """
    result: list[Index] = []
    i = j = 0
    while i < len(shape) or j < len(target):
        left, right = _group_end(shape, target, i, j)
        if left is None or right is None:
            return None
        group = ZERO
        for k in range(i, left):
            group = group * shape[k] + index[k]
        digits: list[Index] = []
        for k in range(right - 1, j, -1):
            digits.append(group % target[k])
            group = group // target[k]
        if right > j:
            digits.append(group)
        result.extend(reversed(digits))
        i, j = left, right
    return tuple(result)


def _group_end(
    shape: Sequence[Size], target: Sequence[Size], i: int, j: int
) -> tuple[int, int] | tuple[None, None]:
    """The shortest runs shape[i:left] and target[j:right] with the same product."""
    if i < len(shape) and same_size(shape[i], 1):
        return i + 1, j
    if j < len(target) and same_size(target[j], 1):
        return i, j + 1
    best = _match_products(shape, target, i, j)
    return best if best is not None else (None, None)


def _match_products(
    shape: Sequence[Size], target: Sequence[Size], i: int, j: int
) -> tuple[int, int] | None:
    totals: list[Size] = []
    total: Size = 1
    for size in target[j:]:
        total = total * size
        totals.append(total)
    total = 1
    for left, size in enumerate(shape[i:], i + 1):
        total = total * size
        for right, other in enumerate(totals, j + 1):
            if same_size(total, other):
                return left, right
    return None
