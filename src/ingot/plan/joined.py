"""Versions of a program as one: a branch that runs one of them. Comes in: a tree of questions about
sizes, and the steps of each version; goes out: the steps of a program of the same inputs and
results whose only call is the branch, or None where results of the versions do not lie alike. What
holds: each tensor that comes out is memory of its own in every version, or the same input in all.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import sympy
import torch
from torch.fx import Graph, GraphModule, Node

from ingot.fuse.fused import CallStep, Fused
from ingot.passes.facts import predicate
from ingot.passes.versions import Question, Versions
from ingot.plan.derived import is_derived
from ingot.plan.places import bytes_of
from ingot.plan.products import root_of
from ingot.program.graph import output_values, placeholders
from ingot.program.program import Program
from ingot.program.shapes import Size, same_size, shape_of, strides_of, tensor_of

aten = torch.ops.aten
REASON = "a branch on sizes"


def joined(program: Program, tree: Versions, versions: Iterator[Fused]) -> Fused | None:
    """`versions`: in the order of the tree's leaves."""
    if not isinstance(tree, Question):
        return next(versions)
    yes = joined(program, tree.yes, versions)
    no = joined(program, tree.no, versions)
    if yes is None or no is None:
        return None
    return _Join(program, tree.fact, (yes, no)).built()


class _Join:
    """One branch while it is written."""

    def __init__(self, program: Program, fact: Any, sides: tuple[Fused, Fused]):
        self.program = program
        self.fact = fact
        self.sides = sides
        self.graph = Graph()
        self.inputs = []
        for node in placeholders(program.graph):
            self.inputs.append(self.graph.placeholder(node.name))
            self.inputs[-1].meta = dict(node.meta)
        self.steps: list[CallStep] = []

    def built(self) -> Fused | None:
        outputs = [list(output_values(side.program.graph)) for side in self.sides]
        if not _each_alone(outputs[0]) or not _each_alone(outputs[1]):
            return None
        cond = self._cond(outputs[0])
        self.steps.append(CallStep(cond, "host", REASON, self.sides))
        results = []
        for k, (one, other) in enumerate(zip(*outputs, strict=True)):
            if not self._alike(one, other):
                return None
            results.append(self._result(cond, k, one))
        self.graph.output(tuple(results))
        bodies = torch.nn.Module()
        for k, side in enumerate(self.sides):
            bodies.add_module(f"version_{k}", side.program.graph_module)
        module = GraphModule(bodies, self.graph)
        none: MappingProxyType[str, torch.Tensor] = MappingProxyType({})
        whole = replace(self.program, graph_module=module, constants=none)
        return Fused(whole, tuple(self.steps))

    def _cond(self, outputs: Sequence[Any]) -> Node:
        symbols = sorted(self.fact.free_symbols, key=lambda symbol: symbol.name)
        asked = predicate(self.graph, [self.fact], {s: self._size(s) for s in symbols})
        sides = [self.graph.get_attr(f"version_{k}") for k in range(2)]
        cond = self.graph.call_function(
            torch.ops.higher_order.cond, (asked, *sides, tuple(self.inputs))
        )
        values = (v.meta["val"] if isinstance(v, Node) else v for v in outputs)
        cond.meta = {"val": tuple(values)}
        return cond

    def _result(self, cond: Node, k: int, value: Any) -> Any:
        if not isinstance(value, Node):
            return value
        if value.op == "placeholder":
            return self.inputs[_position(value)]
        number = value.meta["val"]
        if not isinstance(number, torch.Tensor):
            size = self._size(number.node.expr)
            if size.op == "call_function":
                self.steps.append(CallStep(size, "host", "a size"))
            return size
        part = self.graph.call_function(operator.getitem, (cond, k))
        part.meta = dict(value.meta)
        self.steps.append(CallStep(part, "host", "a part"))
        return part

    def _size(self, wanted: sympy.Basic) -> Node:
        for node in self.inputs:
            for k, size in enumerate(_numbers(node)):
                if not isinstance(size, torch.SymInt) or size.node.expr != wanted:
                    continue
                if size is node.meta["val"]:
                    return node
                asked = self.graph.call_function(aten.sym_size.int, (node, k))
                asked.meta = {"val": size}
                return asked
        raise AssertionError(f"no input has the size {wanted}")

    def _alike(self, one: Any, other: Any) -> bool:
        """Can one value stand for both?"""
        if not isinstance(one, Node) or not isinstance(other, Node):
            return not isinstance(one, Node) and not isinstance(other, Node) and one == other
        if one.op == "placeholder" or other.op == "placeholder":
            same_kind = one.op == other.op
            return same_kind and _position(one) == _position(other)
        a, b = one.meta["val"], other.meta["val"]
        if isinstance(a, torch.SymInt) and isinstance(b, torch.SymInt):
            known = [n.node.expr for i in self.inputs for n in _numbers(i) if _is_symbolic(n)]
            return bool(a.node.expr == b.node.expr) and a.node.expr in known
        if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
            return False
        return (
            a.dtype is b.dtype
            and _same(shape_of(one), shape_of(other))
            and _same(strides_of(one), strides_of(other))
        )


def _each_alone(outputs: Sequence[Any]) -> bool:
    """Is each tensor that is made here the whole of memory that no other has?"""
    made = [
        value
        for value in outputs
        if isinstance(value, Node)
        and value.op != "placeholder"
        and isinstance(value.meta["val"], torch.Tensor)
    ]
    roots = [root_of(value) for value in made]
    return len(set(roots)) == len(roots) and all(
        root.op == "call_function"
        and not is_derived(root)
        and tensor_of(root).dtype is tensor_of(value).dtype
        and same_size(bytes_of(root), bytes_of(value))
        for root, value in zip(roots, made, strict=True)
    )


def _same(a: Sequence[Size], b: Sequence[Size]) -> bool:
    return len(a) == len(b) and all(map(same_size, a, b))


def _position(node: Node) -> int:
    return placeholders(node.graph).index(node)


def _numbers(node: Node) -> tuple[Any, ...]:
    value = node.meta.get("val")
    return tuple(value.shape) if isinstance(value, torch.Tensor) else (value,)


def _is_symbolic(number: Any) -> bool:
    return isinstance(number, torch.SymInt)
