"""torch.export's program as ours. Comes in: a functional ExportedProgram; goes out: a Program with
the same graph, the user's outputs first, the module's tensors outside of it, arguments that are no
tensors fixed, and the ranges of its symbols. The given program is not changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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

from ingot.capture.hidden_aliases import shares_storage, view_of
from ingot.errors import CaptureError
from ingot.program.graph import (
    copy_module,
    fake_mode,
    memory_root,
    output_node,
    output_values,
    placeholders,
)
from ingot.program.program import (
    Assumption,
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

aten = torch.ops.aten
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
    geometry: tuple[Any, ...] | None = None
    """Where no views lead there: size, strides and offset of the output in that memory."""


def program_from_exported(
    exported: ExportedProgram,
    level: Level,
    shared: Mapping[int, Shared] | None = None,
    by_strides: Collection[str] = (),
) -> Program:
    """`shared` has, by their numbers, the user's outputs in the memory of an input; of those that
    are overwritten the graph itself does not tell. `by_strides` are inputs whose strides decide
    what shares memory with them."""
    module = copy_module(exported.graph_module)
    graph = module.graph
    _settle_sizes(graph)
    arguments = _fix_constants(graph, exported)
    inputs = _input_specs(graph, exported)
    outputs = _order_outputs(graph, exported, inputs, shared or {})
    written = {inputs[spec.target].name for spec in outputs if spec.target is not None}
    assumes: frozenset[Assumption] = frozenset({"sharing"} if written & {*by_strides} else ())
    calling = exported.call_spec
    return Program(
        graph_module=module,
        signature=Signature(inputs, outputs),
        constants=MappingProxyType(tensor_attributes(module)),
        symbols=MappingProxyType(_symbols(graph, exported)),
        level=level,
        state=MappingProxyType(_state(exported, inputs)),
        calling=CallSpec(calling.in_spec, calling.out_spec, arguments, assumes),
        guards=_guards(graph),
    )


def shared_outputs(exported: ExportedProgram) -> dict[int, Shared]:
    """The user's outputs in the memory of an input (`x.add_(1); return x.t()`). Read from the graph
    before it is made functional, which forgets it where the input is written."""
    found = {}
    for i, source in enumerate(_user_values(exported)):
        result, views = source, []
        while isinstance(source, Node) and (_writes_first(source) or _is_fixed_view(source)):
            if not _writes_first(source):
                views.append(source)
            source = source.args[0]
        if isinstance(source, Node) and source.op == "placeholder":
            found[i] = Shared(source.name, tuple(reversed(views)))
        elif isinstance(result, Node):
            by_storage = _by_storage(exported, result)
            if by_storage is not None:
                found[i] = by_storage
    return found


def _by_storage(exported: ExportedProgram, result: Node) -> Shared | None:
    """Of a result that operations lead to whose schemas do not say that they are views."""
    value = result.meta.get("val")
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return None
    numbers = (*value.shape, *value.stride(), value.storage_offset())
    if not all(isinstance(number, int) for number in numbers):
        return None
    for node in placeholders(exported.graph):
        given = node.meta.get("val")
        if isinstance(given, torch.Tensor) and shares_storage(value, given):
            if given.dtype is not value.dtype or given.is_conj() or given.is_neg():
                return None
            geometry = (list(value.shape), list(value.stride()), value.storage_offset())
            return Shared(node.name, (), geometry)
    return None


def _is_fixed_view(node: Node) -> bool:
    """Is it surely a view of its first argument, by numbers that are known?"""
    source = view_of(node)
    if source is None:
        return False
    result, given = node.meta.get("val"), source.meta.get("val")
    if isinstance(result, list | tuple):  # the parts are looked at one by one
        return True
    if isinstance(given, list | tuple):
        given = source.args[0].meta.get("val")  # type: ignore[union-attr]
    return (
        isinstance(result, torch.Tensor)
        and isinstance(given, torch.Tensor)
        and shares_storage(result, given)
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
        source = nodes.get(shared[i].source) if kind == "user" and i in shared else None
        if source is not None and order[source] in overwritten:  # None: a constant that was folded
            value = _viewed(graph, source, shared[i])
        values.append(value)
        specs.append(OutputSpec(kind, target, _alias(value, order) if kind == "user" else None))
    output_node(graph).args = (tuple(values),)
    return tuple(specs)


def _viewed(graph: Graph, source: Node, shared: Shared) -> Node:
    """The same views of another source."""
    if shared.geometry is not None:
        with graph.inserting_before(output_node(graph)):
            made = graph.call_function(aten.as_strided.default, (source, *shared.geometry))
        made.meta["val"] = source.meta["val"].as_strided(*shared.geometry)
        return made
    for view in shared.views:
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
        if symbol.is_Symbol and symbol.name in symbols:
            upper = int(known.upper) if known.upper.is_Integer else None
            lower = int(known.lower) if known.lower.is_Integer else 0
            symbols[symbol.name] = SymbolRange(lower, upper)
    return symbols


def _settle_sizes(graph: Graph) -> None:
    """A size that a guard pins to a number, or to another size, is that from here on. Where sizes
    of one are ordinary sizes, the tracer decides by such a guard that an operand is broadcast, but
    goes on to write the size as a symbol: an op that reads the operand would take it for one of
    full size."""
    mode = fake_mode(graph)
    if mode is None or mode.shape_env is None:
        return
    env = mode.shape_env
    known = env.replacements
    for guard in env.guards:
        if not isinstance(guard.expr, sympy.Eq):
            continue
        left, right = (known.get(side, side) for side in guard.expr.args)
        if not left.is_Symbol:
            left, right = right, left
        if left.is_Symbol and left != right and (right.is_Integer or right.is_Symbol):
            # Its own _set_replacement refuses to make a size one that it takes to be two or more.
            known.update({s: expr.xreplace({left: right}) for s, expr in known.items()})
            known[left] = right
            env._replacements_version_counter += 1
            env._update_version_counter()


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
    """Does a·s != a ask whether s is one? Sympy solves polynomials, not floor divisions."""
    symbols, difference = unequal.free_symbols, unequal.lhs - unequal.rhs
    if len(symbols) != 1 or not difference.is_polynomial(*symbols):
        return False
    return bool(sympy.solve(difference, *symbols) == [1])


def _input_numbers(value: Any) -> Sequence[Any]:
    return value.shape if isinstance(value, torch.Tensor) else (value,)


def _state(exported: ExportedProgram, inputs: Sequence[InputSpec]) -> dict[str, torch.Tensor]:
    known = {**exported.constants, **exported.state_dict}
    return {spec.target: known[spec.target] for spec in inputs if spec.target is not None}
