"""Convert a functional ExportedProgram to a Program with the same graph. The user's outputs come
first, the module's tensors are outside of the graph, arguments that are not tensors are fixed, and
symbols have their ranges. The given program is not changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
    least_of,
    tensor_attributes,
)
from ingot.program.shared_views import Shared, viewed

_INPUT_KINDS: dict[TorchInputKind, InputKind] = {
    TorchInputKind.PARAMETER: "parameter",
    TorchInputKind.BUFFER: "buffer",
    TorchInputKind.CONSTANT_TENSOR: "constant",
    TorchInputKind.USER_INPUT: "user",
}
OUTPUT_KINDS: dict[TorchOutputKind, OutputKind] = {
    TorchOutputKind.USER_OUTPUT: "user",
    TorchOutputKind.LOSS_OUTPUT: "user",
    TorchOutputKind.BUFFER_MUTATION: "mutation",
    TorchOutputKind.PARAMETER_MUTATION: "mutation",
    TorchOutputKind.USER_INPUT_MUTATION: "mutation",
    TorchOutputKind.GRADIENT_TO_PARAMETER: "gradient",
    TorchOutputKind.GRADIENT_TO_USER_INPUT: "gradient",
}
_ORDER: tuple[OutputKind, ...] = ("user", "mutation", "gradient")


def program_from_exported(
    exported: ExportedProgram,
    level: Level,
    shared: Mapping[int, Shared] | None = None,
    by_strides: Collection[str] = (),
    same: Mapping[int, str | int] | None = None,
) -> Program:
    """`shared` has, by index, the user outputs in the memory of an input; if the input is
    overwritten the graph itself does not show this. `by_strides` are inputs whose strides decide
    what shares memory with them. `same` has, by index, the user outputs that are an input (its
    name) or an earlier output (its index), the same object."""
    module = copy_module(exported.graph_module)
    graph = module.graph
    _settle_sizes(graph)
    arguments = _fix_constants(graph, exported)
    inputs = _input_specs(graph, exported)
    outputs = _order_outputs(graph, exported, inputs, shared or {}, same or {})
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


def _fix_constants(graph: Graph, exported: ExportedProgram) -> tuple[int | Fixed, ...]:
    """Drop placeholders that are neither tensors nor symbols. Returns the input of each user
    argument, or its fixed value."""
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
    same: Mapping[int, str | int],
) -> tuple[OutputSpec, ...]:
    """The user's outputs first, then mutations, then gradients."""
    nodes = {node.name: node for node in placeholders(graph)}
    order = {node: i for i, node in enumerate(nodes.values())}
    by_target = {spec.target or spec.name: i for i, spec in enumerate(inputs)}
    rows = []
    for value, spec in zip(output_values(graph), exported.graph_signature.output_specs):
        kind = OUTPUT_KINDS.get(spec.kind)
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
            with graph.inserting_before(output_node(graph)):
                value = viewed(graph, source, shared[i]) or value
        values.append(value)
        if kind == "user":
            known = same.get(i)
            own = order[nodes[known]] if isinstance(known, str) and known in nodes else None
            other = known if isinstance(known, int) else None
            specs.append(OutputSpec(kind, None, _alias(value, order), own, other))
        else:
            specs.append(OutputSpec(kind, target))
    output_node(graph).args = (tuple(values),)
    return tuple(specs)


def _alias(value: Any, order: Mapping[Node, int]) -> int | None:
    return order.get(memory_root(value)) if isinstance(value, Node) else None


def _symbols(graph: Graph, exported: ExportedProgram) -> dict[str, SymbolRange]:
    """torch.export knows more of a range than the ShapeEnv does."""
    symbols = graph_symbols(graph)
    for symbol, known in exported.range_constraints.items():
        if symbol.is_Symbol and symbol.name in symbols:
            upper = int(known.upper) if known.upper.is_Integer else None
            symbols[symbol.name] = SymbolRange(least_of(symbol, known.lower), upper)
    return symbols


def _settle_sizes(graph: Graph) -> None:
    """Substitute a size that a guard equates with a number or with another size. Where one is an
    ordinary size, the tracer decides by such a guard that an operand is broadcast, but still writes
    the size as a symbol, so that an op that reads the operand would take it for one of full
    size."""
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
            # Its own _set_replacement refuses a size of one where it assumes two or more.
            known.update({s: expr.xreplace({left: right}) for s, expr in known.items()})
            known[left] = right
            env._replacements_version_counter += 1
            env._update_version_counter()


def _guards(graph: Graph) -> tuple[SizeGuard, ...]:
    """Conditions decided while tracing, over sizes that the inputs determine."""
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
    """Whether the guard asks if a size is one, which a kernel asks to call a tensor contiguous.
    Either answer is right: the strides of such a dimension are never used."""
    asked_by = guard.sloc.framework_loc
    if not isinstance(guard.expr, sympy.Ne):
        return False
    if getattr(asked_by, "name", "") == "check_contiguous_sizes_strides":
        return 1 in (guard.expr.lhs, guard.expr.rhs)
    in_kernel = getattr(asked_by, "filename", "").endswith("torch/_ops.py")
    return in_kernel and _is_one(guard.expr)


def _is_one(unequal: sympy.Ne) -> bool:
    """Whether a·s != a asks if s is one. Sympy solves polynomials, not floor divisions."""
    symbols, difference = unequal.free_symbols, unequal.lhs - unequal.rhs
    if len(symbols) != 1 or not difference.is_polynomial(*symbols):
        return False
    return bool(sympy.solve(difference, *symbols) == [1])


def _input_numbers(value: Any) -> Sequence[Any]:
    return value.shape if isinstance(value, torch.Tensor) else (value,)


def _state(exported: ExportedProgram, inputs: Sequence[InputSpec]) -> dict[str, torch.Tensor]:
    known = {**exported.constants, **exported.state_dict}
    return {spec.target: known[spec.target] for spec in inputs if spec.target is not None}
