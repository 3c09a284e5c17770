"""torch.export's program as ours. Comes in: a functional ExportedProgram; goes out: a Program with
the same graph, the user's outputs first, the module's tensors outside of it, arguments that are no
tensors fixed, and the ranges of its symbols. The given program is not changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import sympy
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument
from torch.export.graph_signature import InputKind as TorchInputKind
from torch.export.graph_signature import OutputKind as TorchOutputKind
from torch.fx import Graph, Node

from ingot.errors import CaptureError
from ingot.program.graph import (
    copy_module,
    fake_mode,
    is_view,
    memory_root,
    output_node,
    output_values,
    placeholders,
)
from ingot.program.program import (
    CallSpec,
    Fixed,
    InputKind,
    InputSpec,
    Level,
    OutputKind,
    OutputSpec,
    Program,
    Signature,
    SizeGuard,
    SymbolRange,
    graph_symbols,
    tensor_attributes,
)

_INPUT_KINDS: dict[TorchInputKind, InputKind] = {
    TorchInputKind.PARAMETER: "parameter",
    TorchInputKind.BUFFER: "buffer",
    TorchInputKind.CONSTANT_TENSOR: "constant",
    TorchInputKind.USER_INPUT: "user",
}
_OUTPUT_KINDS: dict[TorchOutputKind, OutputKind] = {
    TorchOutputKind.USER_OUTPUT: "user",
    TorchOutputKind.LOSS_OUTPUT: "user",
    TorchOutputKind.BUFFER_MUTATION: "mutation",
    TorchOutputKind.PARAMETER_MUTATION: "mutation",
    TorchOutputKind.USER_INPUT_MUTATION: "mutation",
    TorchOutputKind.GRADIENT_TO_PARAMETER: "gradient",
    TorchOutputKind.GRADIENT_TO_USER_INPUT: "gradient",
}
_ORDER: tuple[OutputKind, ...] = ("user", "mutation", "gradient")


@dataclass(frozen=True)
class Shared:
    """A user's output in the memory of an input."""

    source: str
    """The input's name."""
    views: tuple[Node, ...]
    """What leads from there to the output, in the graph it was read from."""


def program_from_exported(
    exported: ExportedProgram, level: Level, shared: Mapping[int, Shared] | None = None
) -> Program:
    """`shared` has, by their numbers, the user's outputs in the memory of an input; of those that
    are overwritten the graph itself does not tell."""
    module = copy_module(exported.graph_module)
    graph = module.graph
    arguments = _fix_constants(graph, exported)
    inputs = _input_specs(graph, exported)
    outputs = _order_outputs(graph, exported, inputs, shared or {})
    return Program(
        graph_module=module,
        signature=Signature(inputs, outputs),
        constants=MappingProxyType(tensor_attributes(module)),
        symbols=MappingProxyType(_symbols(graph, exported)),
        level=level,
        state=MappingProxyType(_state(exported, inputs)),
        calling=CallSpec(exported.call_spec.in_spec, exported.call_spec.out_spec, arguments),
        guards=_guards(graph),
    )


def shared_outputs(exported: ExportedProgram) -> dict[int, Shared]:
    """The user's outputs in the memory of an input (`x.add_(1); return x.t()`). Read from the graph
    before it is made functional, which forgets it where the input is written."""
    found = {}
    for i, source in enumerate(_user_values(exported)):
        views = []
        while isinstance(source, Node) and (_writes_first(source) or _is_fixed_view(source)):
            if not _writes_first(source):
                views.append(source)
            source = source.args[0]
        if isinstance(source, Node) and source.op == "placeholder":
            found[i] = Shared(source.name, tuple(reversed(views)))
    return found


def _is_fixed_view(node: Node) -> bool:
    """Is it surely a view of its first argument, by numbers that are known?"""
    if not is_view(node) or len(node.all_input_nodes) != 1:
        return False
    result, source = node.meta.get("val"), node.all_input_nodes[0].meta.get("val")
    return (
        isinstance(result, torch.Tensor)
        and isinstance(source, torch.Tensor)
        and result.untyped_storage()._cdata == source.untyped_storage()._cdata
    )


def buffers_of_written_constants(exported: ExportedProgram) -> ExportedProgram:
    """The same with buffers in place of tensors that the model holds but did not register, where
    they are written to: torch.export lowers no program that writes to a constant, or to what has a
    history."""
    written = {
        _source(value).name
        for node in exported.graph.nodes
        for value in _written_values(node)
        if isinstance(value, Node)
    }
    for node, spec in zip(placeholders(exported.graph), exported.graph_signature.input_specs):
        if spec.kind is TorchInputKind.CONSTANT_TENSOR and spec.arg.name in written:
            spec.kind, spec.persistent = TorchInputKind.BUFFER, False
            assert spec.target is not None
            exported.constants[spec.target] = exported.constants[spec.target].detach()
            node.meta["val"] = node.meta["val"].detach()
    return exported


def _written_values(node: Node) -> list[Any]:
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None:
        return []
    given = {**dict(zip([a.name for a in schema.arguments], node.args)), **node.kwargs}
    return [
        given.get(a.name)
        for a in schema.arguments
        if a.alias_info is not None and a.alias_info.is_write
    ]


def _source(node: Node) -> Node:
    """Whose memory it is, as far as views and writes tell."""
    root = memory_root(node)
    while _writes_first(root) and isinstance(root.args[0], Node):
        root = memory_root(root.args[0])
    return root


def _user_values(exported: ExportedProgram) -> list[Any]:
    specs = exported.graph_signature.output_specs
    values = output_values(exported.graph)
    return [v for v, spec in zip(values, specs) if _OUTPUT_KINDS.get(spec.kind) == "user"]


def _writes_first(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None or not schema.arguments:
        return False
    alias = schema.arguments[0].alias_info
    return alias is not None and alias.is_write and len(schema.returns) == 1


def _fix_constants(graph: Graph, exported: ExportedProgram) -> tuple[int | Fixed, ...]:
    """Drop placeholders that are no tensors and no symbols; where each user's argument went."""
    arguments: list[int | Fixed] = []
    kept = 0
    for node, spec in zip(placeholders(graph), exported.graph_signature.input_specs):
        if spec.kind not in _INPUT_KINDS:
            raise CaptureError(f"an input of kind {spec.kind.name.lower()} has no place here")
        fixed = isinstance(spec.arg, ConstantArgument)
        if spec.kind is TorchInputKind.USER_INPUT:
            arguments.append(Fixed(spec.arg.value) if fixed else kept)
        if fixed:
            node.replace_all_uses_with(spec.arg.value)
            graph.erase_node(node)
        else:
            kept += 1
    return tuple(arguments)


def _input_specs(graph: Graph, exported: ExportedProgram) -> tuple[InputSpec, ...]:
    given = {spec.arg.name: spec for spec in exported.graph_signature.input_specs}
    specs = []
    for node in placeholders(graph):
        spec = given[node.name]
        kind = _INPUT_KINDS[spec.kind]
        if not isinstance(node.meta.get("val"), torch.Tensor):
            kind = "symbol"
        specs.append(InputSpec(node.name, kind, spec.target))
    return tuple(specs)


def _order_outputs(
    graph: Graph,
    exported: ExportedProgram,
    inputs: Sequence[InputSpec],
    shared: Mapping[int, Shared],
) -> tuple[OutputSpec, ...]:
    """The user's outputs first, then mutations, then gradients."""
    nodes = {node.name: node for node in placeholders(graph)}
    order = {node: i for i, node in enumerate(nodes.values())}
    by_target = {spec.target or spec.name: i for i, spec in enumerate(inputs)}
    rows = []
    for value, spec in zip(output_values(graph), exported.graph_signature.output_specs):
        kind = _OUTPUT_KINDS.get(spec.kind)
        if kind is None:
            raise CaptureError(f"an output of kind {spec.kind.name.lower()} has no place here")
        target = by_target[spec.target] if kind != "user" else None
        rows.append((value, kind, target))
    rows.sort(key=lambda row: _ORDER.index(row[1]))
    overwritten = {target for _, kind, target in rows if kind == "mutation"}
    values, specs = [], []
    for i, (value, kind, target) in enumerate(rows):
        if kind == "user" and i in shared and order[nodes[shared[i].source]] in overwritten:
            value = _viewed(graph, nodes[shared[i].source], shared[i].views)
        values.append(value)
        specs.append(OutputSpec(kind, target, _alias(value, order) if kind == "user" else None))
    output_node(graph).args = (tuple(values),)
    return tuple(specs)


def _viewed(graph: Graph, source: Node, views: Sequence[Node]) -> Node:
    """The same views of another source."""
    for view in views:
        args = (source, *view.args[1:])
        with graph.inserting_before(output_node(graph)):
            made = graph.call_function(view.target, args, view.kwargs)  # type: ignore[arg-type]
        value = view.target(source.meta["val"], *view.args[1:], **view.kwargs)  # type: ignore[operator]
        made.meta = {**view.meta, "val": value}
        source = made
    return source


def _alias(value: Any, order: Mapping[Node, int]) -> int | None:
    return order.get(memory_root(value)) if isinstance(value, Node) else None


def _symbols(graph: Graph, exported: ExportedProgram) -> dict[str, SymbolRange]:
    """torch.export knows more of a range than the ShapeEnv does."""
    symbols = graph_symbols(graph)
    for symbol, known in exported.range_constraints.items():
        if symbol.name in symbols:
            upper = int(known.upper) if known.upper.is_Integer else None
            lower = int(known.lower) if known.lower.is_Integer else 0
            symbols[symbol.name] = SymbolRange(lower, upper)
    return symbols


def _guards(graph: Graph) -> tuple[SizeGuard, ...]:
    """What was decided while tracing, of sizes that the inputs tell."""
    told = {
        number.node.expr
        for node in placeholders(graph)
        for number in _input_numbers(node.meta.get("val"))
        if isinstance(number, torch.SymInt) and number.node.expr.is_Symbol
    }
    mode = fake_mode(graph)
    if not told or mode is None or mode.shape_env is None:
        return ()
    conditions = dict.fromkeys(g.expr for g in mode.shape_env.guards if not _asks_layout(g))
    return tuple(SizeGuard(c) for c in conditions if c.free_symbols <= told)


def _asks_layout(guard: Any) -> bool:
    """Is it the question whether a size is one, which a kernel asks to call a tensor contiguous?
    Either answer is right: the strides of such a dimension are never used."""
    asked_by = guard.sloc.framework_loc
    if not isinstance(guard.expr, sympy.Ne):
        return False
    if getattr(asked_by, "name", "") == "check_contiguous_sizes_strides":
        return 1 in (guard.expr.lhs, guard.expr.rhs)
    in_kernel = getattr(asked_by, "filename", "").endswith("torch/_ops.py")
    return in_kernel and _is_one(guard.expr)


def _is_one(unequal: sympy.Ne) -> bool:
    """Does a·s != a ask whether s is one?"""
    (symbol, *more) = unequal.free_symbols
    return not more and sympy.solve(sympy.Eq(unequal.lhs, unequal.rhs), symbol) == [1]


def _input_numbers(value: Any) -> Sequence[Any]:
    return value.shape if isinstance(value, torch.Tensor) else (value,)


def _state(exported: ExportedProgram, inputs: Sequence[InputSpec]) -> dict[str, torch.Tensor]:
    known = {**exported.constants, **exported.state_dict}
    return {spec.target: known[spec.target] for spec in inputs if spec.target is not None}
