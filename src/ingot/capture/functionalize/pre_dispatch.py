"""From torch.export's graph to a Program at pre-dispatch level. Converts an ExportedProgram before
any decomposition, with its writes, views and changes of state, to a Program without them, as
program/spec.py requires at this level. The given program is not changed. Whatever eager forbids is
an error at the user's line.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch._dispatch.python import enable_python_dispatcher
from torch._higher_order_ops.wrap import wrap_with_autocast, wrap_with_set_grad_enabled
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from ingot.capture.functionalize.cells import Value
from ingot.capture.functionalize.control_flow import run_higher_order
from ingot.capture.functionalize.dead_code import trim
from ingot.capture.functionalize.fake_values import like, with_history
from ingot.capture.functionalize.interpreter import Functionalizer, Handlers
from ingot.capture.functionalize.leaves import SymbolicNumber
from ingot.capture.functionalize.writes import run_silent_write, run_write
from ingot.errors import CaptureError
from ingot.journal import Journal, JournalEntry
from ingot.program.call import call_spec
from ingot.program.from_exported import program_from_exported
from ingot.program.graph import composite_ops, fake_mode, output_values, placeholders
from ingot.program.mode_regions import inference_mode
from ingot.program.overlap import overlap
from ingot.program.program import Assumption, Level, Program
from ingot.program.to_exported import ASSUMES, PLAIN, TRACKED

aten = torch.ops.aten
HANDLERS = Handlers(run_write, run_silent_write, run_higher_order)


def pre_dispatch_program(exported: ExportedProgram, keep: Iterable[OpOverload] = ()) -> Program:
    """`keep`: composite ops outside of ATen whose schema the user vouches for."""
    start = time.perf_counter()
    kept = frozenset(keep)
    plain: frozenset[int] = frozenset()
    try:
        functional, run, tracked = _functional(exported, kept, any_grad=True)
    except CaptureError:
        # With inputs that require grad eager would refuse it; with the given ones perhaps not.
        functional, run, tracked = _functional(exported, kept, any_grad=False)
        plain = _plain(exported)
    program = program_from_exported(functional, Level.PRE_DISPATCH)
    outputs = tuple(
        replace(spec, tracked=program.signature.inputs[spec.target].name in tracked)
        if spec.kind == "mutation" and spec.target is not None
        else spec
        for spec in program.signature.outputs
    )
    known = exported.graph_module.meta
    calling = replace(
        call_spec(program),
        assumes=frozenset({*run.assumes, *known.get(ASSUMES, ())}),
        plain=plain | frozenset(known.get(PLAIN, ())),
    )
    return replace(
        program,
        signature=replace(program.signature, outputs=outputs),
        calling=calling,
        journal=_journal(exported, program, run, start),
    )


def _plain(exported: ExportedProgram) -> frozenset[int]:
    """The user's arguments that do not require grad, but could."""
    required = _required(exported)
    specs = exported.graph_signature.input_specs
    pairs = zip(placeholders(exported.graph), specs)
    user = [node for node, spec in pairs if spec.kind is InputKind.USER_INPUT]
    return frozenset(
        i for i, node in enumerate(user)
        if isinstance(val := node.meta.get("val"), Tensor)
        and _may_require_grad(val) and node.name not in required
    )  # fmt: skip


def _may_require_grad(val: Tensor) -> bool:
    return val.is_floating_point() or val.is_complex()


def _journal(
    exported: ExportedProgram, program: Program, run: Functionalizer, start: float
) -> Journal:
    before, after = (composite_ops(m) for m in (exported.graph_module, program.graph_module))
    notes = [f"composite ops: {before.total()} before, {after.total()} after"]
    notes += [f"{op}: {count} before, {after[op]} after" for op, count in before.items()]
    notes += dict.fromkeys(run.states.notes)
    notes += [f"{text} ({count}×)" for text, count in run.counts.items()]
    ms = 1e3 * (time.perf_counter() - start)
    sizes = len(exported.graph.nodes), len(program.graph.nodes)
    return Journal((JournalEntry("functionalize", ms, *sizes, tuple(notes)),))


def _functional(
    exported: ExportedProgram, keep: frozenset[OpOverload], any_grad: bool
) -> tuple[ExportedProgram, Functionalizer, set[str]]:
    """The functional program, and the inputs whose writes autograd sees. With `any_grad` every user
    input may require grad."""
    mode = fake_mode(exported.graph) or FakeTensorMode(allow_non_fake_inputs=True)
    run = Functionalizer(mode, HANDLERS, keep)
    with ExitStack() as stack:
        stack.enter_context(torch.enable_grad())
        stack.enter_context(mode)
        stack.enter_context(enable_python_dispatcher())
        inputs = _inputs(exported, run, any_grad)
        try:
            results = run.run(exported.graph_module, inputs)
        finally:
            run.states.close()
        names = {id(v): n.name for v, n in zip(inputs, placeholders(exported.graph))}
        results = _written_before(exported, run, names, results)
        user = [_output(run, result) for result in results]
        written = [value for value in run.inputs if value.cell.version > 0]
        _check_shared(run, _vals(exported, inputs), written)
        contents = [_written(run, value) for value in written]
        run.scope()
        module = run.base_scope.finish([*contents, *user])
        run.assumes |= _assumed(run, results)
    trim(module)
    for graph_module in module.modules():
        if isinstance(graph_module, GraphModule):
            _forget_grad(graph_module)
    targets = [names[id(value)] for value in written]
    tracked = {name for name, value in zip(targets, written) if value.cell.tracked}
    return _rebuilt(exported, module, targets, run), run, tracked


def _inputs(exported: ExportedProgram, run: Functionalizer, any_grad: bool) -> list[Any]:
    """A Value, SymbolicNumber or plain value for each placeholder; tied tensors are one Value."""
    found: list[Any] = []
    known: dict[Any, Value] = {}
    required = _required(exported)
    specs = exported.graph_signature.input_specs
    for node, spec in zip(placeholders(exported.graph), specs):
        val = node.meta.get("val")
        if not isinstance(val, Tensor):
            made = run.base_scope.add_input(node.name, val, dict(node.meta))
            fixed = isinstance(spec.arg, ConstantArgument)
            found.append(spec.arg.value if fixed else SymbolicNumber(made, val))
            continue
        leaf = _requires_grad(exported, spec)
        if spec.kind is InputKind.USER_INPUT and not any_grad:
            leaf = node.name in required
        made = run.base_scope.add_input(node.name, _given(val, leaf), dict(node.meta))
        layout = val.shape, val.stride(), val.storage_offset()
        key = val.untyped_storage()._cdata, str(layout)
        if spec.kind is not InputKind.USER_INPUT and key in known:
            found.append(known[key])
            continue
        value = run.memories.add_fresh(_given(val, leaf), made, False)
        run.inputs[value] = made
        found.append(value)
        if spec.kind is not InputKind.USER_INPUT:
            known[key] = value
    return found


def _requires_grad(exported: ExportedProgram, spec: InputSpec) -> bool | None:
    """For the module's own tensors; None for the user's."""
    if spec.kind is InputKind.USER_INPUT:
        return None
    tensor = exported.state_dict.get(str(spec.target), exported.constants.get(str(spec.target)))
    return isinstance(tensor, Tensor) and tensor.requires_grad


def _required(exported: ExportedProgram) -> set[str]:
    """The user's arguments that require grad. The tracer's own record may date from after they were
    written to."""
    names = exported.graph_signature.user_inputs
    examples = pytree.tree_leaves(exported.example_inputs)
    pairs = zip(names, examples) if len(names) == len(examples) else ()
    return {str(name) for name, t in pairs if isinstance(t, Tensor) and t.requires_grad}


def _given(val: Tensor, leaf: bool | None) -> Tensor:
    if not _may_require_grad(val):
        return like(val)
    return with_history(val) if leaf is None else like(val).requires_grad_(leaf)


def _written_before(
    exported: ExportedProgram, run: Functionalizer, names: dict[int, str], results: list[Any]
) -> list[Any]:
    """Turn the written contents that a functional program returns back into writes; return the
    user's results."""
    known = {names[id(value)]: value for value in run.inputs}
    by_target = {spec.target: spec.arg.name for spec in exported.graph_signature.input_specs}
    tracked = exported.graph_module.meta.get(TRACKED, ())
    user = []
    for spec, result in zip(exported.graph_signature.output_specs, results):
        if spec.kind is OutputKind.USER_OUTPUT:
            user.append(result)
            continue
        name = by_target.get(spec.target, spec.target)
        with torch.set_grad_enabled(name in tracked):
            run.write(known[str(name)], run.read(result))
    return user


def _vals(exported: ExportedProgram, inputs: Sequence[Any]) -> dict[Value, Tensor]:
    pairs = zip(inputs, placeholders(exported.graph))
    return {value: node.meta["val"] for value, node in pairs if isinstance(value, Value)}


def _assumed(run: Functionalizer, results: Sequence[Any]) -> set[Assumption]:
    inputs = {value.cell.memory for value in run.inputs}
    returned = [leaf.cell.memory for leaf in pytree.tree_leaves(results) if isinstance(leaf, Value)]
    folded = {name for op, name in _FOLDED.items() if op in run.states.folded_outside}
    return run.layouts.assumed(inputs, returned) | folded


_FOLDED: dict[Any, Assumption] = {
    wrap_with_set_grad_enabled: "grad",
    inference_mode: "grad",
    wrap_with_autocast: "autocast",
}


def _check_shared(
    run: Functionalizer, values: Mapping[Value, Tensor], written: Sequence[Value]
) -> None:
    """`values`: each input with the tensor that the tracer was given for it."""
    for value in written:
        for other, val in values.items():
            if other is not value and overlap(values[value], val):
                run.at = value.cell.memory.written_at
                raise run.error("an input that shares memory with another is written to")


def _written(run: Functionalizer, value: Value) -> Node:
    """The content to be written back; autograd's view of it if autograd saw the writes."""
    node = run.content(value.cell) if value.cell.tracked else value.cell.data
    return run.scope().use(node)


def _output(run: Functionalizer, result: Any) -> Any:
    """The node of an output. An output in an input's memory is a view of the input itself, which
    has its new content once the program has run."""
    if isinstance(result, list | tuple):
        return type(result)(_output(run, item) for item in result)
    if isinstance(result, SymbolicNumber):
        return run.scope().use(result.node)
    if not isinstance(result, Value):
        return result
    first = result.cell.memory.cells[0]
    owner = next((v for v in run.inputs if v.cell is first), None)
    if owner is not None and (first.version > 0 or result is owner):
        return _view_of_input(run, result, owner)
    if result.cell.version > 0 and result.steps:
        result.seen_version = -1
    return run.scope().use(_laid_out(run, result, run.read(result)))


def _view_of_input(run: Functionalizer, result: Value, owner: Value) -> Node:
    if result.cell is not owner.cell and result.cell.tracked:
        raise run.error(
            "an output lies in the memory of a written input and has a history of its own",
            "return a copy of it: y.clone()",
        )
    node = run.inputs[owner]
    for step in (*result.cell.path, *result.steps):
        node = step.forward(node)
    return node if result.cell is owner.cell else run.emit(aten.detach.default, node)


def _laid_out(run: Functionalizer, result: Value, node: Node) -> Node:
    """The result with eager's strides: the functional form of a write may give others."""
    val, eager = node.meta["val"], result.eager
    sizes = (
        [*val.shape, *val.stride(), *eager.stride()] if eager.layout is torch.strided else [None]
    )
    if not all(type(size) is int for size in sizes) or val.stride() == eager.stride():
        return node
    if result.steps or eager.numel() < 2 or not _is_dense(eager):
        return node
    strides, shape = eager.stride(), eager.shape
    order = sorted(range(eager.dim()), key=lambda dim: (-strides[dim], shape[dim] == 1))
    back = [order.index(dim) for dim in range(eager.dim())]
    node = run.emit(aten.permute.default, node, order)
    node = run.emit(aten.clone.default, node, memory_format=torch.contiguous_format)
    return run.emit(aten.permute.default, node, back)


def _is_dense(tensor: Tensor) -> bool:
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True


def _forget_grad(module: GraphModule) -> None:
    """Values carry shape, dtype and memory, but no autograd state."""
    for node in module.graph.nodes:
        val = node.meta.get("val")
        if isinstance(val, Tensor):
            node.meta["val"] = val.detach()
        elif isinstance(val, tuple | list):
            node.meta["val"] = type(val)(v.detach() if isinstance(v, Tensor) else v for v in val)


_WRITES = {
    InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
    InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
    InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
}


def _rebuilt(
    exported: ExportedProgram, module: GraphModule, targets: Sequence[str], run: Functionalizer
) -> ExportedProgram:
    """The given program with the functional graph in place of its own."""
    given = exported.graph_signature
    inputs = [_as_state(s) if s.arg.name in targets else s for s in given.input_specs]
    by_name = {spec.arg.name: spec for spec in inputs}
    values = output_values(module.graph)
    writes = []
    for value, name in zip(values, targets):
        spec = by_name[name]
        target = name if spec.kind is InputKind.USER_INPUT else spec.target
        writes.append(OutputSpec(_WRITES[spec.kind], TensorArgument(_name(value)), target))
    user = [s for s in given.output_specs if s.kind is OutputKind.USER_OUTPUT]
    renamed = [_renamed(spec, value) for spec, value in zip(user, values[len(writes) :])]
    constants = [
        InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(name), name) for name in run.constants
    ]
    signature = ExportGraphSignature([*inputs, *constants], [*writes, *renamed])
    return ExportedProgram(
        root=module,
        graph=module.graph,
        graph_signature=signature,
        state_dict=exported.state_dict,
        range_constraints=exported.range_constraints,
        module_call_graph=exported.module_call_graph,
        example_inputs=exported.example_inputs,
        constants={**exported.constants, **run.constants},
        verifiers=exported.verifiers,
    )


def _as_state(spec: InputSpec) -> InputSpec:
    """A tensor that the model holds but did not register becomes a buffer once it is written to."""
    if spec.kind is not InputKind.CONSTANT_TENSOR:
        return spec
    return InputSpec(InputKind.BUFFER, spec.arg, spec.target, persistent=False)


def _name(value: Any) -> str:
    assert isinstance(value, Node)
    return value.name


def _renamed(spec: OutputSpec, value: Any) -> OutputSpec:
    if not isinstance(value, Node):
        return spec
    return OutputSpec(spec.kind, type(spec.arg)(value.name), spec.target)  # type: ignore[call-arg]
