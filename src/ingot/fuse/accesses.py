"""Bounds of accesses that depend on sizes. A rule says which element of an operand an element of
its result reads; that the operand has it follows from the sizes of both. If that cannot be proven
for all values of the symbols, the access becomes a condition on the sizes of a call.

Each op is checked by itself: if every index into its result leads to indices inside its operands,
the same holds in any region made of such ops.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from ingot.errors import CompileError
from ingot.fuse import index as ix
from ingot.fuse.elements import element_of, is_elementwise
from ingot.fuse.expr import Expr, Number
from ingot.fuse.index import Div, Index, Var
from ingot.fuse.reductions import reduction_of, scan_of
from ingot.fuse.views import base_of, is_view, view_rules
from ingot.program.shapes import Size, arguments_of, same_size, shape_of, tensor_of

aten = torch.ops.aten
Point = tuple[Index, ...]


@dataclass(frozen=True)
class Condition:
    """0 <= index < size for all values of the index's variables, given the sizes of a call
    (plan/requirements.py)."""

    index: Index
    size: Size
    node: fx.Node
    """The node whose operand is read."""


def conditions_of(node: fx.Node) -> list[Condition]:
    """The assumptions about sizes in generated code for the node that are not proven."""
    if not _is_dynamic(node):
        return []
    found: dict[tuple[Index, Size], Condition] = {}
    for operand, point, guarded in _reads(node):
        for dim, (index, size) in enumerate(zip(point, shape_of(operand), strict=True)):
            if dim not in guarded and not _proven(index, size):
                found[index, size] = Condition(index, size, node)
    return list(found.values())


def equal(a: Size, b: Size, node: fx.Node) -> list[Condition]:
    """The conditions under which two sizes are the same."""
    if same_size(a, b):
        return []
    if isinstance(a, int) and isinstance(b, int):
        raise CompileError(f"{node} ({node.target}) combines a dimension of {a} with one of {b}")
    return [Condition(ix.of(Var("n", a)), b, node), Condition(ix.of(Var("n", b)), a, node)]


def _is_dynamic(node: fx.Node) -> bool:
    values = (n.meta.get("val") for n in (node, *node.all_input_nodes))
    return any(isinstance(v, torch.Tensor) and v._has_symbolic_sizes_strides for v in values)


def _proven(index: Index, size: Size) -> bool:
    var = index.as_var()
    if var is not None and (var.size == size or same_size(var.size, size)):
        return True
    return ix.within(index, size) or _is_quotient(index, size)


def _is_quotient(index: Index, size: Size) -> bool:
    """Is it i // by with 0 <= i < by · size?"""
    if index.const != 0 or len(index.terms) != 1:
        return False
    ((atom, factor),) = index.terms.items()
    inner = ix.bounds(atom.index) if isinstance(atom, Div) and factor == 1 else None
    if inner is None or inner[0] != 0:
        return False
    assert isinstance(atom, Div)
    return same_size(inner[1] + 1, atom.by * size)


# -- reads -----------------------------------------------------------------------------------------


def _reads(node: fx.Node) -> Iterable[tuple[fx.Node, Point, frozenset[int]]]:
    """(operand, index of the element, dimensions in which guards keep it inside the operand)"""
    own = tuple(
        ix.ZERO if size == 1 else ix.of(Var(f"n{k}", size)) for k, size in enumerate(shape_of(node))
    )
    if is_view(node):
        mapped = view_rules[node.target](node, own)
        return [] if mapped is None else [(base_of(node), mapped, frozenset())]
    if reduction_of(node) is not None or scan_of(node) is not None or not is_elementwise(node):
        return []  # iterates over its operand by the operand's own sizes
    recorder = _Recorder()
    element_of(recorder, node, own)
    guarded = _guarded(node)
    reads = [(operand, point, guarded) for operand, point in recorder.reads]
    return [*reads, *_end(node)]


class _Recorder:
    """Records the reads of a rule as they are, views included. Serves as the rules' Context."""

    def __init__(self) -> None:
        self.reads: list[tuple[fx.Node, Point]] = []

    def value(self, node: fx.Node, index: Point) -> Expr:
        self.reads.append((node, index))
        return Number(tensor_of(node).dtype, None)

    def make(self, kind: type[Expr], *values: Any) -> Any:
        return kind(*values)


def _guarded(node: fx.Node) -> frozenset[int]:
    rank = len(shape_of(node))
    if node.target is aten.cat.default:
        return frozenset([arguments_of(node)["dim"] % rank])
    if node.target is aten.constant_pad_nd.default:
        return frozenset(range(rank - len(arguments_of(node)["pad"]) // 2, rank))
    return frozenset()


def _end(node: fx.Node) -> list[tuple[fx.Node, Point, frozenset[int]]]:
    """The last piece of a concatenation has no guard: it ends where the result does. If it is
    empty, nothing of it is read."""
    if node.target is not aten.cat.default:
        return []
    arguments = arguments_of(node)
    pieces = [p for p in arguments["tensors"] if shape_of(p) != (0,)]
    dim = arguments["dim"] % len(shape_of(node))
    before = sum((shape_of(piece)[dim] for piece in pieces[:-1]), 0)
    last = ix.of(Var("last", shape_of(node)[dim] - before))
    point = tuple(last if d == dim else ix.ZERO for d in range(len(shape_of(node))))
    return [(pieces[-1], point, frozenset(d for d in range(len(point)) if d != dim))]
