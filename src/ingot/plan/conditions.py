"""Conditions on sizes as plan data."""

from __future__ import annotations

from typing import Any

from ingot.fuse.accesses import Condition
from ingot.fuse.index import Div, Index, Mod, Var
from ingot.plan.ir import Affine, Iteration, Quotient, Remainder, Requirement
from ingot.program.source import node_place


def requirement(condition: Condition) -> Requirement:
    node = condition.node
    return Requirement(
        _affine(condition.index), condition.size, f"{node} ({node.target})", node_place(node)
    )


def _affine(index: Index) -> Affine:
    return Affine(index.const, tuple((c, _term(atom)) for atom, c in index.terms.items()))


def _term(atom: Any) -> Iteration | Quotient | Remainder:
    match atom:
        case Var():
            return Iteration(atom.size)
        case Div():
            return Quotient(_affine(atom.index), atom.by)
        case Mod():
            return Remainder(_affine(atom.index), atom.by)
    raise AssertionError(f"{atom} is not a condition on sizes: it is checked where it is used")
