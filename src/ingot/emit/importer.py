"""Imports a legalized Program into the torch dialect with torch-mlir's importer. The module has one
public function `main`. Its arguments are the program's inputs, weights included, each with its name
and kind as attributes; its results are the program's non-constant outputs. The location of every
operation contains the name of its node.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg
from torch_mlir import ir
from torch_mlir.dialects import torch as torch_dialect
from torch_mlir.extras import fx_importer

from ingot.emit.assertions import ASSERTIONS, import_assertion
from ingot.emit.declared_calls import BODY, CALL, call_attributes, import_call
from ingot.emit.dynamic_sizes import Sized
from ingot.emit.literals import literal
from ingot.emit.pairs import PAIRS
from ingot.emit.prim_if import import_cond
from ingot.emit.while_loops import import_loop
from ingot.program.graph import copy_module, output_node, output_values, placeholders
from ingot.program.program import InputSpec, Program
from ingot.program.source import node_place

FUNCTION = "main"


def import_program(program: Program) -> ir.Module:
    context = ir.Context()
    torch_dialect.register_dialect(context)
    module = copy_module(program.graph_module)
    _import_ready(module)
    importer = fx_importer.FxImporter(
        context=context, hooks=_Literals(), graph_node_importer_cls=_NodeImporter
    )
    importer._cc = _Names(context, py_attr_tracker=importer._py_attr_tracker)
    function = importer.import_graph_module(module, func_name=FUNCTION)
    with context:
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [
                _argument_attributes(program, spec, node)
                for spec, node in zip(program.signature.inputs, placeholders(program.graph))
            ]
        )
    return importer.module


def returned(program: Program) -> tuple[int, ...]:
    """The program's outputs that are results of the function: values, not constants."""
    return tuple(i for i, v in enumerate(output_values(program.graph)) if isinstance(v, Node))


def _import_ready(module: GraphModule) -> None:
    """Adapt a graph and its branches to torch-mlir's importer."""
    for node in module.graph.nodes:
        node.meta.pop("tensor_meta", None)
        if isinstance(node.meta.get(BODY), Sized):  # it reads sizes from its witnesses
            node.args = map_arg(node.args, lambda n: n if _is_tensor(n) else 0)
    end = output_node(module.graph)
    end.args = (tuple(v for v in output_values(module.graph) if isinstance(v, Node)),)
    module.graph.eliminate_dead_code()
    for name, child in list(module.named_children()):
        if isinstance(child, GraphModule):
            inner = copy_module(child)
            _import_ready(inner)
            setattr(module, name, inner)


def _argument_attributes(program: Program, spec: InputSpec, node: Node) -> ir.DictAttr:
    named = {"ingot.name": spec.target or spec.name, "ingot.kind": spec.kind}
    if PAIRS in node.meta:
        named["ingot.complex"] = "pairs"
    val = node.meta["val"]
    if isinstance(val, torch.Tensor) and any(isinstance(n, torch.SymInt) for n in val.shape):
        named["ingot.sizes"] = ", ".join(_size_text(program, n) for n in val.shape)
    return ir.DictAttr.get({key: ir.StringAttr.get(text) for key, text in named.items()})


def _size_text(program: Program, size: Any) -> str:
    """`4`, or a symbol with its range: `s0 in 2..60`."""
    known = program.symbols.get(str(size))
    if known is None:
        return str(size)
    return f"{size} in {known.lower}..{'' if known.upper is None else known.upper}"


class _Names(fx_importer.ContextCache):
    """Locations with the node's name and the user's line, to map diagnostics back to nodes."""

    def get_node_location(self, node: Node) -> ir.Location:
        place = node_place(node)
        line = (
            ir.Location.unknown(self._c)
            if place is None
            else ir.Location.file(place.file, place.line, 0, context=self._c)
        )
        return ir.Location.name(node.name, line, context=self._c)


class _Literals(fx_importer.FxImporterHooks):
    """Tensors of any dtype, from their bytes."""

    def resolve_literal(self, importer: Any, value: Any, info: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return None
        return literal(value, importer._cc)


def _operands(node: Node) -> list[Node]:
    """The operands of a call. A call that makes a tensor of a computed size takes the inputs that
    have the sizes as dimensions, not the sizes."""
    body = node.meta.get(BODY)
    if not isinstance(body, Sized):
        return list(node.all_input_nodes)
    inputs = {source.name: source for source in placeholders(node.graph)}
    tensors = filter(_is_tensor, node.all_input_nodes)
    return [*tensors, *(inputs[witness.input] for witness in body.witnesses)]


def _is_tensor(node: Node) -> bool:
    return isinstance(node.meta["val"], torch.Tensor)


class _NodeImporter(fx_importer.GraphNodeImporter):
    __slots__ = ()

    def _import_argument(self, loc: ir.Location, arg: Any, expected_jit_type: Any = None) -> Any:
        if isinstance(arg, Node) and arg.op == "get_attr" and (arg, 0) in self._v:
            return self.resolve_node_value(arg)  # the importer would bind it a second time
        return super()._import_argument(loc, arg, expected_jit_type)

    def _import_literal(self, value: Any, info: Any = None) -> Any:
        if isinstance(value, torch.Tensor):  # the importer would store bool as another dtype
            return literal(value, self._cc)
        return super()._import_literal(value, info)

    def _import_torch_op_overload(
        self, loc: ir.Location, node: Node, concrete_target: Any = None
    ) -> None:
        if CALL in node.meta:
            import_call(self, loc, node, _operands(node), call_attributes(node))
        elif node.target in ASSERTIONS:
            import_assertion(self, loc, node)
        else:
            super()._import_torch_op_overload(loc, node, concrete_target)

    def _import_hop_while_loop(self, loc: ir.Location, node: Node, hop: Any) -> None:
        if CALL in node.meta:
            import_loop(self, loc, node)
        else:
            super()._import_hop_while_loop(loc, node, hop)

    def _import_hop_cond(self, loc: ir.Location, node: Node, hop: Any) -> None:
        import_cond(self, loc, node)
