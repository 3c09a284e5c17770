"""Map a node's elements onto a region's domain: given a read in the node's variables and the
domain's index of the same value, find each of the node's variables in terms of the domain's. A read
is decomposed digit by digit (a reshape is a change of radix); the answer is checked by
substitution, so a wrong guess is rejected.
"""

from __future__ import annotations

from ingot.fuse import index as ix
from ingot.fuse.index import Div, Index, Mod, Var
from ingot.program.shapes import Size, same_size


def solve(
    variables: list[Var], read: tuple[Index, ...], target: tuple[Index, ...], free: list[Var]
) -> dict[Var, Index] | None:
    """Values for `variables` with read(values) == target. A variable that the read does not
    determine (a broadcast) takes the next of the domain's `free` variables that no other one
    uses."""
    values = _from_digits(variables, read, target)
    if values is None:
        return None
    used: set[Var] = set()
    for value in values.values():
        used |= value.variables()
    left = [v for v in free if v not in used]
    for var in variables:
        if var in values:
            continue
        if not left or not same_size(left[0].size, var.size):
            return None
        values[var] = ix.of(left.pop(0))
    for component, wanted in zip(read, target, strict=True):
        if component.substitute(values) != wanted:
            return None
    if not all(ix.within(values[v], v.size) for v in variables):
        return None
    return values


def _from_digits(
    variables: list[Var], read: tuple[Index, ...], target: tuple[Index, ...]
) -> dict[Var, Index] | None:
    known = set(variables)
    digits: dict[Var, dict[Size, Index]] = {}
    for component, wanted in zip(read, target, strict=True):
        if not component.terms:
            continue
        rest = wanted - component.const
        items = list(component.terms.items())
        if len(items) > 1:
            if not all(isinstance(c, int) and c > 0 for _, c in items):
                return None
            items.sort(key=lambda item: -item[1])
        for atom, c in items:
            if isinstance(c, int) and c < 0:
                value, rest = rest * -1, ix.ZERO
            else:
                value, rest = rest // c, rest % c
            place = _digit(atom)
            if place is None or place[0] not in known:
                return None
            digits.setdefault(place[0], {})[place[1]] = value
    values: dict[Var, Index] = {v: ix.ZERO for v in variables if v.size == 1}
    for var, parts in digits.items():
        total = ix.ZERO
        for weight, value in parts.items():
            total = total + value * weight
        values[var] = total
    return values


def _digit(atom: ix.Atom) -> tuple[Var, Size] | None:
    """The variable that an atom is a digit of, and the digit's weight."""
    if isinstance(atom, Var):
        return atom, 1
    if isinstance(atom, Div):
        var = atom.index.as_var()
        return (var, atom.by) if var is not None else None
    if isinstance(atom, Mod):
        var = atom.index.as_var()
        if var is not None:
            return var, 1
        if len(atom.index.terms) == 1 and atom.index.const == 0:
            ((inner, c),) = atom.index.terms.items()
            if c == 1 and isinstance(inner, Div):
                return _digit(inner)
    return None
