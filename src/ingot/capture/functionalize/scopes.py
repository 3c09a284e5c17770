"""Nested graphs under construction. A scope is the program itself, the body of a region, or a
branch of control flow. A node may be used in any scope: one outside of a body enters it as an
input, one inside a closed body leaves it as an output, through every level between. Only the scopes
themselves handle inputs and outputs of bodies.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_arg

from ingot.program.graph import output_node
from ingot.program.mode_regions import region_kinds


@dataclass(eq=False)
class ModeFrame:
    """A state that was entered, which becomes a region."""

    op: Any
    state: tuple[Any, ...]
    context: AbstractContextManager[Any]
    """Sets the state while the body is traced."""


@dataclass(eq=False)
class Scope:
    parent: Scope | None = None
    frame: ModeFrame | None = None
    """None for the program itself, or a branch."""
    graph: Graph = field(default_factory=Graph)
    captures: dict[Node, Node] = field(default_factory=dict)
    """From a node of the parent's graph to the input that represents it."""
    exports: dict[Node, Node] = field(default_factory=dict)
    """From a node of this graph to the item of the region's result in the parent's."""
    bodies: dict[str, Scope | GraphModule] = field(default_factory=dict)
    call: Node | None = None
    """The region's call in the parent's graph, once the scope is closed."""
    last_input: Node | None = None

    def __post_init__(self) -> None:
        self.graph.ingot_scope = self  # type: ignore[attr-defined]

    def add_input(self, name: str, val: Any, meta: dict[str, Any] | None = None) -> Node:
        first = next(iter(self.graph.nodes), None)
        if self.last_input is not None:
            place = self.graph.inserting_after(self.last_input)
        elif first is not None:
            place = self.graph.inserting_before(first)
        else:
            place = self.graph.inserting_before(self.graph._root)
        with place:
            node = self.graph.placeholder(name)
        if self.parent is None:
            node.name = name  # the signature's name, even if fx reserves it
        node.meta = {**(meta or {}), "val": val}
        self.last_input = node
        return node

    def use(self, node: Node) -> Node:
        """The node that represents `node` in this graph."""
        if node.graph is self.graph:
            return node
        home = scope_of(node)
        if home.encloses(self):
            assert self.parent is not None
            outer = self.parent.use(node)
            if outer not in self.captures:
                self.captures[outer] = self.add_input(outer.name, outer.meta["val"], outer.meta)
            return self.captures[outer]
        return self.use(home.export(node))

    def encloses(self, other: Scope) -> bool:
        step = other.parent
        while step is not None and step is not self:
            step = step.parent
        return step is self

    def reaches(self, node: Node) -> bool:
        """Whether `node` can be used here: no branch that has ended lies between."""
        home: Scope | None = scope_of(node)
        while home is not None and home is not self and not home.encloses(self):
            if home.frame is None:
                return False
            home = home.parent
        return home is not None

    def export(self, node: Node) -> Node:
        """The item of this closed region's result that is `node`."""
        assert self.call is not None and self.parent is not None
        if node not in self.exports:
            graph = self.parent.graph
            after = list(self.exports.values())[-1] if self.exports else self.call
            with graph.inserting_after(after):
                item = graph.call_function(operator.getitem, (self.call, len(self.exports)))
            item.meta = dict(node.meta)
            self.exports[node] = item
        return self.exports[node]

    def close(self) -> None:
        """Leave the body of a region and add its call to the parent's graph."""
        assert self.parent is not None and self.frame is not None
        name = self.parent.add_body(_body_name(self.frame), self)
        graph = self.parent.graph
        body = graph.get_attr(name)
        self.call = graph.call_function(
            self.frame.op, (*self.frame.state, body, *self.captures), {}
        )
        inner = [n for n in self.graph.nodes if n.op == "call_function"]
        if inner:
            self.call.meta = {k: v for k, v in inner[0].meta.items() if k != "val"}

    def add_body(self, base: str, body: Scope | GraphModule) -> str:
        number = sum(name.rsplit("_", 1)[0] == base for name in self.bodies)
        name = f"{base}_{number}"
        self.bodies[name] = body
        return name

    def finish(self, outputs: Sequence[Any]) -> GraphModule:
        """The scope as a module, bodies first."""
        self.graph.output(tuple(outputs))
        output_node(self.graph).meta = {}
        modules: dict[str, Any] = {}
        for name, body in self.bodies.items():
            modules[name] = body if isinstance(body, GraphModule) else body.finish_region()
        root = torch.nn.Module()
        for name, module in modules.items():
            root.add_module(name, module)
        return GraphModule(root, self.graph, class_name="Program")

    def finish_region(self) -> GraphModule:
        assert self.call is not None
        self.call.meta["val"] = tuple(node.meta["val"] for node in self.exports)
        return self.finish(list(self.exports))


def scope_of(node: Node) -> Scope:
    scope: Scope = node.graph.ingot_scope  # type: ignore[attr-defined]
    return scope


def made_under(node: Node, op: Any) -> bool:
    """Whether the innermost region of kind `op` around the node is enabled."""
    scope: Scope | None = scope_of(node)
    while scope is not None:
        if scope.frame is not None and scope.frame.op is op:
            return bool(scope.frame.state[0])
        scope = scope.parent
    return False


def _body_name(frame: ModeFrame) -> str:
    words = region_kinds[frame.op].words(*frame.state)
    return words.split("(")[0]


def used_in(scope: Scope, value: Any) -> Any:
    """`value` with every node replaced by its representative in `scope`."""
    return map_arg(value, scope.use)
