"""Versions of a program as one native branch: where every op of every version is native and their
results lie alike, the branch between them needs no Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar

from ingot.plan.facts import compared
from ingot.plan.ir import Branch, Buffer, Fold, Kind, Op, Plan, Ref, Return, is_native
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
        ops, end, renamed, folds = merged
        notes.add("the branch between versions is native")
        left = tuple(b for b in plan.buffers if b.name not in renamed)
        return replace(plan, ops=(*plan.ops[:-1], *folds, *ops, end), buffers=left)


Block = tuple[tuple[Op, ...], Return, dict[str, str], tuple[Fold, ...]]
"""Native ops, what they return, the buffers that others stand for, and what is folded before."""


def _merged(op: Branch, buffers: Mapping[str, Buffer]) -> Block | None:
    then, otherwise = _block(op.then, buffers), _block(op.otherwise, buffers)
    if then is None or otherwise is None:
        return None
    (first, end, one, folds), (second, other_end, other, more) = then, otherwise
    names = _matched(end, other_end, buffers)
    if names is None:
        return None
    second = tuple(_renamed(each, names) for each in second)
    branch = Branch(compared(op.condition), first, second, op.step)
    return (branch,), end, {**one, **other, **names}, (*folds, *more)


def _block(ops: Sequence[Op], buffers: Mapping[str, Buffer]) -> Block | None:
    *rest, last = ops
    folds = tuple(op for op in rest if isinstance(op, Fold))
    body = tuple(op for op in rest if not isinstance(op, Fold))
    if not all(map(is_native, body)):
        return None
    if isinstance(last, Return):
        return body, last, {}, folds
    if rest or not isinstance(last, Branch):
        return None
    return _merged(last, buffers)


def _matched(one: Return, other: Return, buffers: Mapping[str, Buffer]) -> dict[str, str] | None:
    """The buffers of the second that the first's stand for; None where results differ."""
    names: dict[str, str] = {}
    if len(one.values) != len(other.values):
        return None
    for a, b in zip(one.values, other.values, strict=True):
        if not isinstance(a, Ref) or not isinstance(b, Ref):
            if a != b:
                return None
            continue
        if a == b:
            continue
        first, second = buffers[a.name], buffers[b.name]
        if not _alike(first, second) or names.get(b.name, a.name) != a.name:
            return None
        if b.name not in names and a.name in names.values():
            return None
        names[b.name] = a.name
    return names


def _alike(a: Buffer, b: Buffer) -> bool:
    """Is each the whole of memory that its version makes, and of the same layout?"""
    return (
        a.kind is b.kind is Kind.ARENA
        and a.dtype is b.dtype
        and len(a.shape) == len(b.shape)
        and all(map(same_size, a.shape, b.shape))
        and all(map(same_size, a.strides, b.strides))
    )


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """With other names of buffers, at any depth of a record."""
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
