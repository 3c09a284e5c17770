"""Turn the ints that loops carry, or read from a tensor, into 0-d tensors: native code has memory
for those, and the loop bodies count on them. After the loop the value is an int again. A loop whose
body needs the int itself, as a size, is left alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from ingot.passes.base import Pass, ProgramDraft
from ingot.program.graph import (
    copy_module,
    fake_mode,
    is_item,
    output_node,
    output_values,
    placeholders,
)
from ingot.program.higher_order import Control, control_of

aten = torch.ops.aten


@dataclass(frozen=True)
class Counters(Pass):
    name: ClassVar[str] = "counters"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        count = 0
        for node in list(draft.graph.nodes):
            positions = _int_carries(node)
            mode = fake_mode(draft.graph)
            if mode is None or not (positions or _reads_numbers(node, draft.module)):
                continue
            try:
                _Graph(draft.module, mode).convert(node, positions)
            except _NumberNeeded:
                continue
            for item in [user for user in node.users if user.args[1] in positions]:
                _back_to_number(draft, item)
            count += 1
        return [f"loops with tensor counters: {count}"] if count else []


class _NumberNeeded(Exception):
    """A body uses an int where a tensor cannot replace it."""


def _int_carries(node: Node) -> set[int]:
    control = control_of(node)
    if control is None or control.kind != "loop":
        return set()
    return {k for k, start in enumerate(control.carried) if _is_int(start)}


def _reads_numbers(node: Node, module: GraphModule) -> bool:
    """Whether this is a loop with a body that reads an int from a tensor."""
    control = control_of(node)
    if control is None or control.kind == "branch":
        return False
    bodies = [operator.attrgetter(str(body.target))(module) for body in control.bodies]
    return any(_is_read(inner) for body in bodies for inner in body.graph.nodes)


def _is_read(node: Node) -> bool:
    if node.target is not aten._local_scalar_dense.default:
        return False
    return node.args[0].meta["val"].dtype is torch.int64  # type: ignore[union-attr]


def _is_int(value: Any) -> bool:
    known = value.meta.get("val") if isinstance(value, Node) else value
    return isinstance(known, int | torch.SymInt) and not isinstance(known, bool)


def _back_to_number(draft: ProgramDraft, item: Node) -> None:
    """Make users of the item read its value as an int."""
    if item.users:
        with draft.graph.inserting_after(item):
            read = draft.graph.call_function(aten._local_scalar_dense.default)
        item.replace_all_uses_with(read, propagate_meta=False)
        read.args, read.meta = (item,), dict(item.meta)
    item.meta = {**item.meta, "val": _part(item)}


def _part(item: Node) -> Any:
    source, number = item.args
    return source.meta["val"][number]  # type: ignore[union-attr]


@dataclass
class _Graph:
    """A graph in which some ints are being converted to tensors."""

    module: GraphModule
    mode: AbstractContextManager[Any]
    turned: set[Any] = field(default_factory=set)
    """The values that were ints and are tensors now."""

    def convert(self, node: Node, positions: set[int]) -> None:
        """Convert a control-flow call of this graph: operands at `positions`, and the values
        carried from them, become tensors."""
        control = control_of(node)
        assert control is not None
        bodies = [self._body(body) for body in control.bodies]
        carried = {k for k in positions if k < len(control.carried)}
        for number, body in enumerate(bodies):
            is_test = control.kind == "loop" and number == 0
            body.turn(positions, set() if is_test else carried)
        if control.kind != "loop" and any(body.gives_turned() for body in bodies):
            raise _NumberNeeded
        self._replace(node, control, bodies, positions)
        values = node.meta["val"]
        node.meta = {
            **node.meta,
            "val": tuple(self.scalar() if k in carried else v for k, v in enumerate(values)),
        }

    def _body(self, body: Node) -> _Graph:
        return _Graph(copy_module(operator.attrgetter(str(body.target))(self.module)), self.mode)

    def _replace(
        self, node: Node, control: Control, bodies: list[_Graph], positions: set[int]
    ) -> None:
        operands = iter(
            self.tensor(node, operand) if k in positions else operand
            for k, operand in enumerate(control.operands())
        )
        node.args = tuple(
            type(given)(next(operands) for _ in given) if isinstance(given, list | tuple) else given
            for given in node.args
        )
        for old, body in zip(control.bodies, bodies, strict=True):
            name = f"{node.name}_{old.target}".replace(".", "_")
            self.module.add_submodule(name, body.module)
            with self.module.graph.inserting_before(node):
                new = self.module.graph.get_attr(name)
            new.meta = dict(old.meta)
            node.replace_input_with(old, new)

    # -- a body ------------------------------------------------------------------------------------

    def turn(self, positions: set[int], carried: set[int]) -> None:
        """Convert the inputs at `positions` to tensors, and the outputs at `carried` too."""
        inputs = placeholders(self.module.graph)
        for k in positions:
            self.set(inputs[k], self.scalar())
        for node in list(self.module.graph.nodes):
            if _is_read(node):
                node.target, node.args = aten.view.default, (node.args[0], [])
                self.set(node, self.scalar())
            elif node.op == "call_function" and not self.turned.isdisjoint(node.all_input_nodes):
                self._turn_call(node)
        end, outputs = output_node(self.module.graph), list(output_values(self.module.graph))
        for k in carried:
            outputs[k] = self.tensor(end, outputs[k])
        if carried:
            end.args = (tuple(outputs),)

    def gives_turned(self) -> bool:
        return any(
            isinstance(v, Node) and v in self.turned for v in output_values(self.module.graph)
        )

    def _turn_call(self, node: Node) -> None:
        control = control_of(node)
        if control is not None:
            operands = enumerate(control.operands())
            given = {k for k, v in operands if isinstance(v, Node) and v in self.turned}
            self.convert(node, given | _int_carries(node))
            self.turned.add(node)
        elif is_item(node):
            if not isinstance(node.meta["val"], torch.Tensor) and isinstance(
                _part(node), torch.Tensor
            ):
                self.set(node, _part(node))
        elif node.target in _ARITHMETIC:
            target, how = _ARITHMETIC[node.target]
            node.args = tuple(self.tensor(node, a) for a in node.args)
            node.target, node.kwargs = target, how
            self.set(node, self.made_by(node))
        elif node.target in _FORMS:
            _FORMS[node.target](self, node)
        else:
            self._turn_op(node)

    def _turn_op(self, node: Node) -> None:
        """Convert an op whose int operand is a tensor now, to its tensor overload if it has one."""
        target, was = node.target, node.meta["val"]
        if not isinstance(target, OpOverload) or not isinstance(was, torch.Tensor):
            raise _NumberNeeded
        name = _TENSOR_OVERLOADS.get(target._overloadname)
        if name is not None and hasattr(target._overloadpacket, name):
            node.target = target = getattr(target._overloadpacket, name)
        kinds = {argument.name: str(argument.type) for argument in target._schema.arguments}
        given = {**dict(zip(kinds, node.args)), **node.kwargs}
        held = [name for name, value in given.items() if _mentions(value, self.turned)]
        if any(kinds[name] != "Tensor" for name in held):
            raise _NumberNeeded
        if self.made_by(node).dtype is not was.dtype:
            raise _NumberNeeded

    # -- values ------------------------------------------------------------------------------------

    def set(self, node: Node, value: torch.Tensor) -> None:
        node.meta = {**node.meta, "val": value}
        self.turned.add(node)

    def scalar(self) -> torch.Tensor:
        with self.mode:
            return torch.empty((), dtype=torch.int64)

    def tensor(self, before: Node, value: Any) -> Any:
        """Converts a number to a tensor; a tensor is returned unchanged."""
        if isinstance(value, Node) and isinstance(value.meta["val"], torch.Tensor):
            return value
        return self.call(before, aten.full.default, [], value, dtype=torch.int64)

    def call(self, before: Node, target: Any, *args: Any, **kwargs: Any) -> Node:
        with self.module.graph.inserting_before(before):
            node = self.module.graph.call_function(target, args, kwargs)
        node.meta = dict(before.meta)
        node.meta["val"] = self.made_by(node)
        return node

    def made_by(self, node: Node) -> torch.Tensor:
        args, kwargs = map_arg((node.args, node.kwargs), lambda n: n.meta["val"])
        with self.mode:
            return node.target(*args, **kwargs)  # type: ignore[operator]


def _mentions(value: Any, nodes: set[Any]) -> bool:
    if isinstance(value, list | tuple):
        return any(_mentions(part, nodes) for part in value)
    return isinstance(value, Node) and value in nodes


def _select(graph: _Graph, node: Node) -> None:
    """x[i] as an index_select of one row."""
    source, dim, index = node.args
    if source in graph.turned or index not in graph.turned:
        raise _NumberNeeded
    size = graph.tensor(node, graph.call(node, aten.sym_size.int, source, dim))
    negative = graph.call(node, aten.lt.Scalar, index, 0)
    behind = graph.call(node, aten.add.Tensor, index, size)
    index = graph.call(node, aten.where.self, negative, behind, index)
    rows = graph.call(node, aten.view.default, index, [1])
    node.args = (graph.call(node, aten.index_select.default, source, dim, rows), dim, 0)
    node.meta["val"] = graph.made_by(node)


def _full(graph: _Graph, node: Node) -> None:
    sizes, value = node.args
    if value not in graph.turned or _mentions(sizes, graph.turned):
        raise _NumberNeeded
    made = graph.call(node, aten._to_copy.default, value, dtype=node.meta["val"].dtype)
    node.args = (graph.call(node, aten.expand.default, made, sizes),)
    node.target, node.kwargs = aten.clone.default, {"memory_format": torch.contiguous_format}


_TENSOR_OVERLOADS = {"Scalar": "Tensor", "Tensor_Scalar": "Tensor_Tensor"}
_ARITHMETIC: dict[Any, tuple[OpOverload, dict[str, Any]]] = {
    operator.add: (aten.add.Tensor, {}),
    operator.sub: (aten.sub.Tensor, {}),
    operator.mul: (aten.mul.Tensor, {}),
    operator.neg: (aten.neg.default, {}),
    operator.floordiv: (aten.div.Tensor_mode, {"rounding_mode": "floor"}),
    operator.mod: (aten.remainder.Tensor, {}),
    operator.lt: (aten.lt.Tensor, {}),
    operator.le: (aten.le.Tensor, {}),
    operator.gt: (aten.gt.Tensor, {}),
    operator.ge: (aten.ge.Tensor, {}),
    operator.eq: (aten.eq.Tensor, {}),
    operator.ne: (aten.ne.Tensor, {}),
    operator.and_: (aten.logical_and.default, {}),
    operator.or_: (aten.logical_or.default, {}),
    torch.sym_not: (aten.logical_not.default, {}),
    torch.sym_max: (aten.maximum.default, {}),
    torch.sym_min: (aten.minimum.default, {}),
}
"""Scalar operators and their tensor equivalents."""
_FORMS: dict[Any, Callable[[_Graph, Node], None]] = {
    aten.select.int: _select,
    aten.full.default: _full,
}
