"""Merges the versions of a program into one native branch. If every op of every version is native
and the results have the same layout, the branch between versions needs no Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar

from ingot.plan.facts import compared
from ingot.plan.ir import Branch, Buffer, Eager, Fold, Items, Kind, Op, Plan, Ref, Return, is_native
from ingot.plan.passes.base import Notes, PlanPass
from ingot.program.shapes import same_size


@dataclass(frozen=True)
class MergeVersions(PlanPass):
    name: ClassVar[str] = "merge_versions"

    def run(self, plan: Plan, notes: Notes) -> Plan:
        if not plan.ops or not isinstance(plan.ops[-1], Branch):
            return plan
        buffers = plan.by_name()
        merged = _merged(plan.ops[-1], buffers)
        if merged is None:
            notes.add("Python branches between versions: one of them has eager ops")
            return plan
        notes.add("the branch between versions is native")
        left = tuple(b for b in plan.buffers if b.name not in merged.renamed)
        ops = (*plan.ops[:-1], *merged.folds, *merged.ops, *merged.views, merged.end)
        return replace(plan, ops=ops, buffers=left)


@dataclass(frozen=True)
class _Block:
    """One version: native ops, views of their results, and the return."""

    ops: tuple[Op, ...]
    views: tuple[Eager, ...]
    end: Return
    folds: tuple[Fold, ...] = ()
    """Folds that precede the ops."""
    renamed: frozenset[str] = frozenset()
    """Buffers replaced by buffers of another version."""


def _merged(op: Branch, buffers: Mapping[str, Buffer]) -> _Block | None:
    then, otherwise = _block(op.then, buffers), _block(op.otherwise, buffers)
    if then is None or otherwise is None:
        return None
    names = _Matching(buffers).of(then, otherwise)
    if names is None:
        return None
    second = tuple(_renamed(each, names) for each in otherwise.ops)
    branch = Branch(compared(op.condition), then.ops, second, op.step)
    renamed = then.renamed | otherwise.renamed | {*names}
    return _Block((branch,), then.views, then.end, (*then.folds, *otherwise.folds), renamed)


def _block(ops: Sequence[Op], buffers: Mapping[str, Buffer]) -> _Block | None:
    *rest, last = ops
    folds = tuple(op for op in rest if isinstance(op, Fold))
    body = [op for op in rest if not isinstance(op, Fold)]
    if not isinstance(last, Return):
        return _merged(last, buffers) if isinstance(last, Branch) and not rest else None
    views = []
    while body and isinstance(view := body[-1], Eager) and _is_view(view, buffers):
        views.append(view)
        body.pop()
    if not all(map(is_native, body)):
        return None
    return _Block(tuple(body), tuple(reversed(views)), last, folds)


def _is_view(op: Eager, buffers: Mapping[str, Buffer]) -> bool:
    return op.pure and buffers[op.call.result].alias is not None


class _Matching:
    """Maps buffers of the second version to those of the first."""

    def __init__(self, buffers: Mapping[str, Buffer]):
        self._buffers = buffers
        self._names: dict[str, str] = {}

    def of(self, first: _Block, second: _Block) -> dict[str, str] | None:
        """None if the results differ."""
        if len(first.views) != len(second.views):
            return None
        for one, other in zip(first.views, second.views, strict=True):
            a, b = one.call, other.call
            same = a.target == b.target and self._match((a.args, a.kwargs), (b.args, b.kwargs))
            if not same or not _same_layout(self._buffers[a.result], self._buffers[b.result]):
                return None
            self._names[b.result] = a.result
        return self._names if self._match(first.end.values, second.end.values) else None

    def _match(self, one: Any, other: Any) -> bool:
        if isinstance(one, tuple) and isinstance(other, tuple):
            return len(one) == len(other) and all(map(self._match, one, other))
        if isinstance(one, Items) and isinstance(other, Items):
            return self._match(one.values, other.values)
        if not isinstance(one, Ref) or not isinstance(other, Ref):
            return bool(one == other)
        return one == other or self._stands_for(one.name, other.name)

    def _stands_for(self, one: str, other: str) -> bool:
        if other in self._names:
            return self._names[other] == one
        if one in self._names.values() or not _alike(self._buffers[one], self._buffers[other]):
            return False
        self._names[other] = one
        return True


def _same_layout(a: Buffer, b: Buffer) -> bool:
    return (
        a.dtype is b.dtype
        and len(a.shape) == len(b.shape)
        and all(map(same_size, a.shape, b.shape))
        and all(map(same_size, a.strides, b.strides))
    )


def _alike(a: Buffer, b: Buffer) -> bool:
    """Is each a whole arena buffer, and of the same layout?"""
    return a.kind is b.kind is Kind.ARENA and _same_layout(a, b)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """The value with renamed buffers, at any depth of a record."""
    if not names:
        return value
    if isinstance(value, tuple):
        return tuple(_renamed(each, names) for each in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changes = {}
    for each in fields(value):
        old = getattr(value, each.name)
        new = names.get(old, old) if each.name in _NAMES and isinstance(old, str) else old
        changes[each.name] = _renamed(new, names)
    return type(value)(**changes)


_NAMES = ("buffer", "cursor", "old", "new", "alias")
