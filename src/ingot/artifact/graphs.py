"""A graph as JSON and back. Nodes are listed in order, each with its name, its kind (input,
attribute, body, call or output), its arguments and the metadata of its value. The reader accepts a
node only if everything that it refers to precedes it and its arguments fit its operator's schema.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn
from torch.fx import Graph, GraphModule, Node
from torch.fx._lazy_graph_module import _LazyGraphModule
from torch.fx.experimental.symbolic_shapes import _free_unbacked_symbols_with_path

from ingot.artifact.arguments import ArgumentReader, ValueWriter
from ingot.artifact.symbol_ranges import SymbolReader
from ingot.document import Part
from ingot.errors import SaveError
from ingot.program.operators import CallError, check_call, operator_name, operator_named
from ingot.program.source import node_place, trace_places

MOST_NODES = 500_000
MOST_DEPTH = 20
MOST_LINE = 1_000_000_000

_LIBRARY = frozenset((*dir(nn.Module()), *dir(GraphModule)))
"""Attributes that a name from a file must not shadow."""


class GraphWriter:
    """Writes graphs; collects the tensors and the stack traces that they refer to."""

    def __init__(self, values: ValueWriter):
        self._values = values
        self._traces: dict[str, int] = {}
        self._scopes: dict[tuple[tuple[str, str, str], ...], int] = {}
        self.tensors: dict[str, Tensor] = {}

    def encode(self, module: GraphModule, prefix: str = "") -> dict[str, Any]:
        bodies: dict[str, Any] = {}
        nodes = []
        for node in module.graph.nodes:
            try:
                nodes.append(self._node(module, node, bodies, prefix))
            except (SaveError, CallError) as error:
                why = error.why if isinstance(error, SaveError) else str(error)
                raise SaveError(f"{node.name}: {why}", place=node_place(node)) from None
        return {"nodes": nodes, "bodies": bodies}

    def tables(self) -> dict[str, Any]:
        """The tables that the indices at the nodes refer to."""
        traces = [
            [[place.file, place.line, place.code] for place in trace_places(text)]
            for text in self._traces
        ]
        return {"traces": traces, "scopes": [[list(row) for row in s] for s in self._scopes]}

    def _node(
        self, module: GraphModule, node: Node, bodies: dict[str, Any], prefix: str
    ) -> dict[str, Any]:
        row: dict[str, Any] = {"name": node.name}
        if node.op == "placeholder":
            row["op"] = "input"
        elif node.op == "get_attr":
            row |= self._attribute(module, str(node.target), bodies, prefix)
        elif node.op == "call_function":
            row |= {"op": "call", "target": operator_name(node.target)}
            row["args"] = [self._values.encode(arg) for arg in node.args]
            if node.kwargs:
                row["kwargs"] = {k: self._values.encode(v) for k, v in node.kwargs.items()}
        elif node.op == "output":
            row |= {"op": "output", "value": self._values.encode(node.args[0])}
            return row
        else:
            raise SaveError(f"a {node.op} node has no place in a functional graph")
        if "val" in node.meta and row["op"] != "body":
            row["val"] = self._values.encode(node.meta["val"])
        return row | self._origin(node)

    def _attribute(
        self, module: GraphModule, target: str, bodies: dict[str, Any], prefix: str
    ) -> dict[str, Any]:
        found: Any = module
        for part in target.split("."):
            found = getattr(found, part)
        if isinstance(found, GraphModule):
            if target not in bodies:
                bodies[target] = self.encode(found, f"{prefix}{target}/")
            return {"op": "body", "target": target}
        if not isinstance(found, Tensor):
            raise SaveError(f"{target} is neither a tensor nor a graph")
        self.tensors[f"{prefix}{target}"] = found
        return {"op": "attribute", "target": target}

    def _origin(self, node: Node) -> dict[str, int]:
        """The node's origin in the user's program."""
        row = {}
        if trace := node.meta.get("stack_trace"):
            row["trace"] = self._traces.setdefault(trace, len(self._traces))
        if stack := node.meta.get("nn_module_stack"):
            scope = tuple((str(key), str(path), _class_name(kind))
                          for key, (path, kind) in stack.items())  # fmt: skip
            row["scope"] = self._scopes.setdefault(scope, len(self._scopes))
        return row


def _class_name(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}" if isinstance(kind, type) else str(kind)


class GraphReader:
    def __init__(
        self, symbols: SymbolReader, tables: Mapping[str, Part], tensors: Mapping[str, Tensor]
    ):
        self._symbols = symbols
        self._values = ArgumentReader(symbols)
        self._tensors = tensors
        self._traces = [_trace(part) for part in tables["traces"].items()]
        self._scopes = [_scope(part) for part in tables["scopes"].items()]
        self._count = 0

    def decode(self, part: Part, prefix: str = "", depth: int = 0) -> GraphModule:
        fields = part.fields("nodes", "bodies")
        if depth > MOST_DEPTH:
            part.fail("bodies are nested too deeply")
        root = nn.Module()
        bodies = {}
        for target, inner in fields["bodies"].entries().items():
            bodies[target] = self.decode(inner, f"{prefix}{target}/", depth + 1)
            _attach(inner, root, target, bodies[target])
        rows = fields["nodes"].items()
        self._count += len(rows)
        if self._count > MOST_NODES:
            fields["nodes"].fail(f"more than {MOST_NODES} nodes")
        graph = Graph()
        nodes: dict[str, Node] = {}
        for i, row in enumerate(rows):
            self._node(row, graph, nodes, root, bodies, prefix, i == len(rows) - 1)
        if not rows:
            fields["nodes"].fail("a graph without an output")
        self._symbols.forget_questions()
        self._bind_unbacked(graph)
        return _LazyGraphModule(root, graph, class_name="Program")

    def decode_inputs(self, part: Part, outputs: int) -> GraphModule:
        """A graph of the inputs alone, which returns nothing as often as the graph has outputs."""
        graph, root = Graph(), nn.Module()
        nodes: dict[str, Node] = {}
        for row in part.fields("nodes", "bodies")["nodes"].items(most=MOST_NODES):
            if row.entries()["op"].value != "input":
                break
            self._node(row, graph, nodes, root, {}, "", False)
        graph.output(tuple([None] * outputs))
        self._symbols.forget_questions()
        return _LazyGraphModule(root, graph, class_name="Program")

    def _node(
        self, row: Part, graph: Graph, nodes: dict[str, Node], root: nn.Module,
        bodies: Mapping[str, GraphModule], prefix: str, last: bool,
    ) -> None:  # fmt: skip
        given = row.entries()
        op = given["op"].text() if "op" in given else ""
        if op not in _KEYS:
            row.fail("'op' is none of input, attribute, body, call and output")
        fields = row.fields("name", "op", *_KEYS[op], optional=_OPTIONAL[op])
        name = fields["name"].name()
        if name in nodes or keyword.iskeyword(name):
            fields["name"].fail(f"{name} is {'there twice' if name in nodes else 'a keyword'}")
        if last != (op == "output"):
            row.fail("the output has to be the last node, and the only one")
        if op == "input":
            if any(node.op != "placeholder" for node in nodes.values()):
                row.fail("an input after another node")
            node = graph.create_node("placeholder", name)
        elif op == "output":
            node = graph.output(self._values.argument(fields["value"], nodes))
        elif op == "call":
            node = self._call(row, fields, graph, nodes)
        else:
            node = self._attribute(fields, op, graph, root, bodies, prefix)
        node.name = name
        graph._graph_namespace._used_names.add(name)
        if op == "input":
            node.target = name
        self._describe(fields, node)
        nodes[name] = node

    def _call(
        self, row: Part, fields: dict[str, Part], graph: Graph, nodes: Mapping[str, Node]
    ) -> Node:
        args = tuple(self._values.argument(arg, nodes) for arg in fields["args"].items())
        kwargs = {
            Part(key, "", value).name(): self._values.argument(value, nodes)
            for key, value in (fields["kwargs"].entries() if "kwargs" in fields else {}).items()
        }
        try:
            target = operator_named(fields["target"].text())
        except CallError as error:
            fields["target"].fail(str(error), hints=["import what registers it before loading"])
        try:
            check_call(target, args, kwargs)
        except CallError as error:
            row.fail(str(error))
        return graph.create_node("call_function", target, args, kwargs)

    def _attribute(
        self, fields: dict[str, Part], op: str, graph: Graph, root: nn.Module,
        bodies: Mapping[str, GraphModule], prefix: str,
    ) -> Node:  # fmt: skip
        target = fields["target"].text()
        if op == "body":
            if target not in bodies:
                fields["target"].fail("no such body")
        else:
            name = f"{prefix}{target}"
            if name not in self._tensors:
                fields["target"].fail("no such tensor")
            _attach(fields["target"], root, target, self._tensors[name])
        return graph.create_node("get_attr", target)

    def _describe(self, fields: dict[str, Part], node: Node) -> None:
        if "val" in fields:
            node.meta["val"] = self._values.described(fields["val"])
        if node.op == "output":
            values = node.args[0] if isinstance(node.args[0], list | tuple) else node.args
            node.meta["val"] = tuple(
                value.meta.get("val") if isinstance(value, Node) else value for value in values
            )
        if "trace" in fields:
            node.meta["stack_trace"] = _indexed(fields["trace"], self._traces)
        if "scope" in fields:
            node.meta["nn_module_stack"] = _indexed(fields["scope"], self._scopes)

    def _bind_unbacked(self, graph: Graph) -> None:
        """Record the node that binds each unbacked symbol, for passes that retrace the graph."""
        pending = self._symbols.unbacked
        for node in graph.nodes:
            if pending and node.op != "output" and (val := node.meta.get("val")) is not None:
                found = _free_unbacked_symbols_with_path(
                    val, (), shape_env=self._symbols.env, pending=pending, simplify=True
                )
                if found:
                    node.meta["unbacked_bindings"] = found


_KEYS: dict[str, tuple[str, ...]] = {
    "input": ("val",),
    "attribute": ("target", "val"),
    "body": ("target",),
    "call": ("target", "args"),
    "output": ("value",),
}
_OPTIONAL: dict[str, tuple[str, ...]] = {
    "input": ("trace", "scope"),
    "attribute": ("trace", "scope"),
    "body": ("trace", "scope"),
    "call": ("kwargs", "val", "trace", "scope"),
    "output": (),
}


def _attach(part: Part, root: nn.Module, target: str, value: Tensor | GraphModule) -> None:
    """Set the attribute at a path; no part of the path may shadow one of nn.Module's own."""
    *outer, last = target.split(".")
    if len(outer) > MOST_DEPTH:
        part.fail("a path too long")
    owner = root
    for name in (*outer, last):
        if Part(name, "", part).name() in _LIBRARY or name.startswith("__"):
            part.fail(f"{name!a} cannot be the name of an attribute")
    for name in outer:
        inner = owner._modules.get(name)
        if inner is None:
            inner = nn.Module()
            owner.add_module(name, inner)
        owner = inner
    if isinstance(value, GraphModule):
        owner.add_module(last, value)
    else:
        owner.__dict__[last] = value


def _indexed(part: Part, table: list[Any]) -> Any:
    return table[part.integer(0, len(table) - 1)]


def _trace(part: Part) -> str:
    """A stack trace of files, lines and code, which are used in messages only."""
    lines = []
    for row in part.items(most=1000):
        file, number, code = row.items(3)
        if '"' in file.line(4096):
            file.fail("a file name with a quotation mark")
        lines.append(f'File "{file.value}", line {number.integer(0, MOST_LINE)}\n    {code.line()}')
    return "\n".join(lines)


def _scope(part: Part) -> dict[str, tuple[str, str]]:
    rows = [[cell.line(4096) for cell in row.items(3)] for row in part.items(most=1000)]
    return {key: (path, kind) for key, path, kind in rows}
