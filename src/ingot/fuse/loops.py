"""A region as a loop nest: loops in order, the variable that runs along the vector, and the stores
of each iteration. Loops are split where that removes divisions from indexes; adjacent loops that
every access traverses as one are merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from torch import fx

from ingot.fuse import index as ix
from ingot.fuse.expr import Expr, Guarded, Load, ordered, rewritten
from ingot.fuse.index import Index, Var
from ingot.fuse.region import Region, RegionContext
from ingot.program.shapes import Size, same_size, strides_of

MOST_SPLITS = 12
COMMON_SIZE = 256.0
SMALLEST_TILE = 8


@dataclass(frozen=True)
class Store:
    buffer: fx.Node
    index: Index
    """Element of the buffer's memory."""
    value: Expr


@dataclass(frozen=True)
class Nest:
    outer: tuple[Var, ...]
    """Loops shared by all values, outermost first."""
    inner: tuple[Var, ...]
    """Loops that the reductions run over."""
    vector: Var | None
    """The loop that runs along the vector: last of `outer` or last of `inner`. None if there is no
    loop."""
    stores: tuple[Store, ...]
    split: bool
    """Few long rows: the reduction itself is split into pieces."""
    across: Var | None = None
    """The loop along which some loads are contiguous while the stores are along `vector`: such a
    nest runs tile by tile."""

    def expressions(self) -> list[Expr]:
        """Everything the nest computes, operands first."""
        return ordered(s.value for s in self.stores)

    def accesses(self) -> list[Index]:
        loads = [e.index for e in self.expressions() if isinstance(e, Load)]
        return [*(s.index for s in self.stores), *loads]


def make_nest(region: Region) -> Nest:
    return _tiled(_merged(_with_vector(plain_nest(region))))


def plain_nest(region: Region) -> Nest:
    """The nest before a loop is vectorised and loops are merged."""
    context = RegionContext(region)
    stores = tuple(
        Store(n, ix.linear(point := region.members[n], strides_of(n)), context.value(n, point))
        for n in region.stored
    )
    nest = Nest(tuple(region.outer()), tuple(region.inner()), None, stores, region.needs_split)
    return _ordered(_split_loops(nest))


def _moved(nest: Nest, values: dict[Var, Index], into: dict[Var, tuple[Var, ...]]) -> Nest:
    """The nest with loop variables replaced."""

    def loops(vs: Iterable[Var]) -> tuple[Var, ...]:
        return tuple(new for v in vs for new in into.get(v, (v,)))

    exprs = rewritten((s.value for s in nest.stores), lambda i: i.substitute(values), over=loops)
    stores = tuple(
        replace(s, index=s.index.substitute(values), value=e)
        for s, e in zip(nest.stores, exprs, strict=True)
    )
    return replace(nest, outer=loops(nest.outer), inner=loops(nest.inner), stores=stores)


# -- splitting -------------------------------------------------------------------------------------


def _split_loops(nest: Nest) -> Nest:
    """Split loops whose variables are divided in indexes."""
    for _ in range(MOST_SPLITS):
        found = _first_division(nest)
        if found is None:
            break
        var, by = found
        high, low = Var(f"{var.name}h", var.size // by), Var(f"{var.name}l", by)
        nest = _moved(nest, {var: ix.of(high) * by + ix.of(low)}, {var: (high, low)})
    return nest


def _first_division(nest: Nest) -> tuple[Var, int] | None:
    for expr in nest.expressions():
        for index in expr.indexes():
            found = _division(index)
            if found is not None:
                return found
    for store in nest.stores:
        found = _division(store.index)
        if found is not None:
            return found
    return None


def _division(index: Index) -> tuple[Var, int] | None:
    for atom in index.terms:
        if not isinstance(atom, ix.Div | ix.Mod):
            continue
        var = atom.index.as_var()
        if (
            var is not None
            and isinstance(var.size, int)
            and isinstance(atom.by, int)
            and var.size % atom.by == 0
            and 1 < atom.by < var.size
        ):
            return var, atom.by
        found = _division(atom.index)
        if found is not None:
            return found
    return None


# -- order -----------------------------------------------------------------------------------------


def _ordered(nest: Nest) -> Nest:
    """Order loops by the strides of stores, or of loads where a reduction stores little; loops of
    size 1 are removed."""
    ones = {v: ix.ZERO for v in (*nest.outer, *nest.inner) if v.size == 1}
    if ones:
        nest = _moved(nest, ones, {v: () for v in ones})
    accesses = nest.accesses()
    return replace(
        nest, outer=_by_stride(nest.outer, accesses), inner=_by_stride(nest.inner, accesses[::-1])
    )


def _by_stride(loops: tuple[Var, ...], accesses: Sequence[Index]) -> tuple[Var, ...]:
    for access in accesses:
        strides = {v: access.coefficient(v) for v in loops}
        if all(isinstance(s, int) and s != 0 for s in strides.values()):
            return tuple(sorted(loops, key=lambda v: -abs(strides[v])))  # type: ignore[arg-type]
    return loops


def _with_vector(nest: Nest) -> Nest:
    """Move the loop along which most accesses are contiguous to the end of its kind."""
    loops = (*nest.outer, *nest.inner)
    if not loops:
        return nest
    accesses = nest.accesses()
    scores = {v: _score(v, accesses, len(nest.stores)) for v in loops}
    best = max(reversed(loops), key=lambda v: scores[v])
    outer, inner = ([v for v in group if v is not best] for group in (nest.outer, nest.inner))
    if best in nest.outer:
        return replace(nest, outer=(*outer, best), vector=best)
    return replace(nest, inner=(*inner, best), vector=best)


def _score(var: Var, accesses: Sequence[Index], stores: int) -> float:
    """Unit strides count for a loop, and in loads short ones. Stores weigh more."""
    total = everything = 0.0
    for k, access in enumerate(accesses):
        stored = k < stores
        weight = _elements(access) * (1.5 if stored else 1.0)
        everything += weight
        total += weight * _ease(access.coefficient(var), stored)
    if isinstance(var.size, int) and var.size < 8:
        total -= everything / max(var.size, 1)
    return total


def _ease(step: Size | None, stored: bool) -> float:
    if step is None:
        return -2.0
    if step == 0:
        return 0.0
    if not isinstance(step, int):
        return -1.0
    if stored:
        return 1.0 if step == 1 else -0.8
    return 2 / abs(step) - 1


def _elements(access: Index) -> float:
    """The number of elements that an access touches over the whole nest; unknown sizes count as
    COMMON_SIZE."""
    total = 1.0
    for var in access.variables():
        total *= var.size if isinstance(var.size, int) else COMMON_SIZE
    return total


# -- merging ---------------------------------------------------------------------------------------


def _merged(nest: Nest) -> Nest:
    changed = True
    while changed:
        changed = False
        for group in (nest.outer, nest.inner):
            for a, b in pairwise(group):
                merged = merged_pair(nest, a, b)
                if merged is not None:
                    nest, changed = merged, True
                    break
            if changed:
                break
    return nest


def merged_pair(nest: Nest, a: Var, b: Var, always: bool = False) -> Nest | None:
    """Merge a and the loop b inside it, if every access has one stride through both. With `always`,
    other accesses recompute a and b from the merged loop."""
    exprs = nest.expressions()
    guards = [e for e in exprs if isinstance(e, Guarded)]
    indexes = [i for e in exprs if not isinstance(e, Guarded) for i in e.indexes()]
    if not always and not all(_even(i, a, b) for i in [*indexes, *(s.index for s in nest.stores)]):
        return None
    if not all(_even(g.index, a, b) or g.index.as_var() is a for g in guards):
        return None
    both = Var(f"{a.name}{b.name}", a.size * b.size)
    parts = {a: ix.of(both) // b.size, b: ix.of(both) % b.size}

    def on_index(index: Index) -> Index:
        if not _even(index, a, b):
            return index.substitute(parts)
        terms = dict(index.terms)
        terms.pop(a, None)
        step = terms.pop(b, 0)
        if step != 0:
            terms[both] = step
        return Index(terms, index.const)

    def on_guard(guard: Guarded) -> tuple[Index, Size, Size]:
        if guard.index.as_var() is a:
            return ix.of(both), guard.low * b.size, guard.high * b.size
        return on_index(guard.index), guard.low, guard.high

    def loops(vs: Iterable[Var]) -> tuple[Var, ...]:
        return tuple(both if v is a else v for v in vs if v is not b)

    values = rewritten((s.value for s in nest.stores), on_index, on_guard, loops)
    stores = tuple(
        replace(s, index=on_index(s.index), value=e)
        for s, e in zip(nest.stores, values, strict=True)
    )
    vector = both if nest.vector in (a, b) else nest.vector
    return replace(
        nest, outer=loops(nest.outer), inner=loops(nest.inner), stores=stores, vector=vector
    )


def _even(index: Index, a: Var, b: Var) -> bool:
    first, second = index.coefficient(a), index.coefficient(b)
    if first is None or second is None:
        return False
    return same_size(first, second * b.size)


# -- tiles -----------------------------------------------------------------------------------------


def _tiled(nest: Nest) -> Nest:
    """Mark a nest that contains a transpose."""
    if nest.inner or nest.vector is None or not _long_enough(nest.vector):
        return nest
    weights: dict[Var, float] = {}
    for expr in nest.expressions():
        if isinstance(expr, Guarded):
            return nest
        if isinstance(expr, Load):
            var = crosswise(nest, expr.index)
            if var is not None:
                weights[var] = weights.get(var, 0.0) + _elements(expr.index)
    if not weights:
        return nest
    return replace(nest, across=max(weights, key=lambda v: weights[v]))


def crosswise(nest: Nest, index: Index) -> Var | None:
    """The loop along which `index` is contiguous, if it is not along the vector."""
    assert nest.vector is not None
    if index.coefficient(nest.vector) in (0, 1, None):
        return None
    return next((v for v in nest.outer if index.coefficient(v) == 1 and _long_enough(v)), None)


def _long_enough(var: Var) -> bool:
    return isinstance(var.size, int) and var.size >= SMALLEST_TILE
