"""Convert a Program to torch.export's program, for PyTorch's own tools: an ExportedProgram around a
copy of the graph, with the same state. The graph keeps its regions. PyTorch has no operator for
inference_mode, so such a region becomes a no_grad region unless `keep_inference` is set.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch._higher_order_ops.wrap import wrap_with_set_grad_enabled
from torch.export import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from torch.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)
from torch.fx import GraphModule, Node
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

from ingot.errors import InputError
from ingot.program.call import call_spec
from ingot.program.graph import copy_module, output_node, output_values, placeholders
from ingot.program.mode_regions import inference_mode
from ingot.program.program import Fixed, Program

TRACKED = "writes seen by autograd"
"""Meta key of an ExportedProgram's graph module: the inputs whose writes autograd sees."""
ASSUMES, PLAIN = "assumes", "plain"
"""Keys in the same meta: the fields of our CallSpec."""
_INPUTS = {
    "parameter": InputKind.PARAMETER,
    "buffer": InputKind.BUFFER,
    "constant": InputKind.CONSTANT_TENSOR,
    "user": InputKind.USER_INPUT,
    "symbol": InputKind.USER_INPUT,
}
_WRITES = {
    "parameter": OutputKind.PARAMETER_MUTATION,
    "buffer": OutputKind.BUFFER_MUTATION,
    "user": OutputKind.USER_INPUT_MUTATION,
}


def program_to_exported(program: Program, keep_inference: bool = False) -> ExportedProgram:
    calling = call_spec(program)
    if any(spec.kind == "gradient" for spec in program.signature.outputs):
        raise InputError("a training step returns gradients, for which torch.export has no place")
    module = copy_deep(program.graph_module)
    if not keep_inference:
        _without_inference(module)
    inputs = _inputs(program, module)
    outputs = _outputs(program, module)
    tensors = {**program.state, **program.constants}
    state = {s.target: tensors[s.target] for s in inputs if _is_state(s) and s.target is not None}
    constants: dict[str, Any] = {
        s.target: tensors[s.target]
        for s in inputs
        if s.kind is InputKind.CONSTANT_TENSOR and s.target is not None
    }
    module.recompile()
    module.meta[TRACKED] = [
        program.signature.inputs[spec.target].name
        for spec in program.signature.outputs
        if spec.tracked and spec.target is not None
    ]
    module.meta[ASSUMES], module.meta[PLAIN] = sorted(calling.assumes), sorted(calling.plain)
    signature = ModuleCallSignature([], [], calling.in_spec, calling.out_spec)
    return ExportedProgram(
        root=module,
        graph=module.graph,
        graph_signature=ExportGraphSignature(inputs, outputs),
        state_dict=state,
        range_constraints=_ranges(program, module),
        module_call_graph=[ModuleCallEntry("", signature)],
        constants=constants,
    )


def copy_deep(module: GraphModule) -> GraphModule:
    """Copies the graph and every body, at any depth."""
    made = copy_module(module)
    for name, inner in list(made.named_children()):
        if isinstance(inner, GraphModule):
            setattr(made, name, copy_deep(inner))
    return made


def _without_inference(module: GraphModule) -> None:
    for inner in module.modules():
        for node in inner.graph.nodes if isinstance(inner, GraphModule) else ():
            if node.target is inference_mode:
                node.target = wrap_with_set_grad_enabled
                node.args = (not node.args[0], *node.args[1:])


def _is_state(spec: InputSpec) -> bool:
    return spec.kind in (InputKind.PARAMETER, InputKind.BUFFER)


def _inputs(program: Program, module: GraphModule) -> list[InputSpec]:
    """The module's own tensors first, then the user's arguments in pytree order, fixed ones
    included. Constants of the graph become inputs."""
    nodes = placeholders(module.graph)
    specs = program.signature.inputs
    own = [
        InputSpec(
            _INPUTS[spec.kind], TensorArgument(node.name), spec.target, _persistent(spec.kind)
        )
        for node, spec in zip(nodes, specs)
        if spec.target is not None
    ]
    order = [node for node, spec in zip(nodes, specs) if spec.target is not None]
    held, held_specs = _lift_constants(module)
    order, own = order + held, own + held_specs
    user = []
    for i, argument in enumerate(call_spec(program).arguments):
        if isinstance(argument, Fixed):
            node = _fixed(module, i, argument.value)
            kind: Any = ConstantArgument(node.name, argument.value)
        else:
            node = nodes[argument]
            kind = TensorArgument(node.name) if _is_tensor(node) else SymIntArgument(node.name)
        order.append(node)
        user.append(InputSpec(InputKind.USER_INPUT, kind, None))
    _reorder(module, order)
    return [*own, *user]


def _persistent(kind: str) -> bool | None:
    return True if kind == "buffer" else None


def _is_tensor(node: Node) -> bool:
    return isinstance(node.meta.get("val"), Tensor)


def _lift_constants(module: GraphModule) -> tuple[list[Node], list[InputSpec]]:
    nodes, specs = [], []
    for node in list(module.graph.nodes):
        if node.op != "get_attr" or not isinstance(node.meta.get("val"), Tensor):
            continue
        target = str(node.target)
        with module.graph.inserting_before(next(iter(module.graph.nodes))):
            place = module.graph.placeholder("c_" + target.replace(".", "_"))
        place.meta = {"val": node.meta["val"]}
        node.replace_all_uses_with(place, propagate_meta=False)
        module.graph.erase_node(node)
        nodes.append(place)
        specs.append(InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(place.name), target))
    return nodes, specs


def _fixed(module: GraphModule, i: int, value: Any) -> Node:
    with module.graph.inserting_before(next(iter(module.graph.nodes))):
        node = module.graph.placeholder(f"fixed_{i}")
    node.meta["val"] = value
    return node


def _reorder(module: GraphModule, order: list[Node]) -> None:
    first = next(iter(module.graph.nodes))
    for node in order:
        if node is not first:
            first.prepend(node)
        first = node.next


def _outputs(program: Program, module: GraphModule) -> list[OutputSpec]:
    """Writes first, then the user's outputs, as torch.export orders them."""
    inputs = program.signature.inputs
    writes, user, values = [], [], []
    for value, spec in zip(output_values(module.graph), program.signature.outputs):
        if spec.target is None:
            user.append((value, OutputSpec(OutputKind.USER_OUTPUT, _argument(value), None)))
            continue
        given = inputs[spec.target]
        target = given.name if given.kind == "user" else given.target
        kind = _WRITES[given.kind]
        writes.append((value, OutputSpec(kind, TensorArgument(value.name), target)))
    values = [value for value, _ in (*writes, *user)]
    output_node(module.graph).args = (tuple(values),)
    return [spec for _, spec in (*writes, *user)]


def _argument(value: Any) -> Any:
    if not isinstance(value, Node):
        return ConstantArgument("", value)
    return TensorArgument(value.name) if _is_tensor(value) else SymIntArgument(value.name)


def _ranges(program: Program, module: GraphModule) -> dict[Any, Any]:
    found = {}
    for node in module.graph.nodes:
        val = node.meta.get("val")
        numbers = (*val.shape, *_strides(val)) if isinstance(val, Tensor) else (val,)
        for number in numbers:
            if not isinstance(number, torch.SymInt):
                continue
            for symbol in number.node.expr.free_symbols:
                known = program.symbols.get(symbol.name)
                if known is not None:
                    upper = int_oo if known.upper is None else known.upper
                    found[symbol] = ValueRanges(known.lower, upper)
    return found


def _strides(val: Tensor) -> tuple[Any, ...]:
    return tuple(val.stride()) if val.layout is torch.strided else ()
