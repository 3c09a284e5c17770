"""The one printer of programs. The same program gives the same text, whatever the tracer called its
nodes: values are named by their op and counted. Strides are shown if they are not contiguous,
constants by dtype, shape and a digest of their bytes, symbols with their ranges. Golden tests,
cache keys, diffs and the report use this text.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable
from typing import Any

import torch
from torch._ops import HigherOrderOperator, OpOverload
from torch.fx import Graph, GraphModule, Node
from torch.utils._python_dispatch import _disable_current_modes

from ingot.program.graph import output_values
from ingot.program.mode_regions import is_region, region_body, region_kinds, region_parts
from ingot.program.program import InputSpec, Program, SymbolRange

SHORT_DTYPES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.complex64: "c64",
    torch.complex128: "c128",
    torch.complex32: "c32",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.uint16: "u16",
    torch.uint32: "u32",
    torch.uint64: "u64",
    torch.bool: "b8",
}


def program_to_text(program: Program) -> str:
    lines = [f"program @ {program.level.value}"]
    lines += [f"  symbol {name}: {_range(known)}" for name, known in program.symbols.items()]
    for name, tensor in program.constants.items():
        lines.append(f"  constant {name}: {tensor_type(tensor)} #{digest(tensor)}")
    names = value_names(program.graph)
    lines += graph_lines(program.graph, names, program.signature.inputs)
    lines.append(_outputs(program, names))
    for name, module in _subgraphs(program.graph_module):
        inner = graph_lines(module.graph, value_names(module.graph), ())
        lines += [f"subgraph {name}", *inner, _returned(module.graph, value_names(module.graph))]
    return "\n".join(lines) + "\n"


def graph_lines(graph: Graph, names: dict[Node, str], inputs: Iterable[InputSpec]) -> list[str]:
    """One line for each node except the output and references to branches; the body of a region is
    indented below it."""
    kinds = {spec.name: spec.kind for spec in inputs}
    lines = []
    for node in graph.nodes:
        if node.op == "output" or is_reference(node):
            continue
        line = node_line(node, names, kinds.get(node.name, ""))
        lines += [f"{line} {{", *_body_lines(node), "  }"] if is_region(node) else [line]
    return lines


def _body_lines(node: Node) -> list[str]:
    body = region_body(node)
    names = value_names(body.graph)
    lines = [*graph_lines(body.graph, names, ()), _returned(body.graph, names)]
    return [f"  {line}" for line in lines]


def is_reference(node: Node) -> bool:
    """Whether it is a reference to a branch, which is shown as @name where it is used."""
    return node.op == "get_attr" and "val" not in node.meta


def node_line(node: Node, names: dict[Node, str], kind: str = "") -> str:
    head = f"  {names[node]}: {value_type(node.meta.get('val'))}"
    if node.op == "placeholder":
        return f"{head} = input {kind}".rstrip()
    if node.op == "get_attr":
        return f"{head} = constant {node.target}"
    if is_region(node):
        state, _, values = region_parts(node)
        given = ", ".join(_argument(value, names) for value in values)
        return f"{head} = {region_kinds[node.target].words(*state)} of ({given})"
    arguments = [_argument(value, names) for value in node.args]
    arguments += [f"{key}={_argument(value, names)}" for key, value in sorted(node.kwargs.items())]
    return f"{head} = {target_name(node.target)}({', '.join(arguments)})"


def value_names(graph: Graph) -> dict[Node, str]:
    """%in0, %in1 ... for inputs, %op, %op.1 ... for calls, in program order."""
    names: dict[Node, str] = {}
    counts: dict[str, int] = {}
    for node in graph.nodes:
        base = _base_name(node)
        count = counts[base] = counts.get(base, -1) + 1
        numbered = f"{base}{count}" if node.op == "placeholder" else f"{base}.{count}"
        names[node] = f"%{base}" if count == 0 and node.op != "placeholder" else f"%{numbered}"
    return names


def _base_name(node: Node) -> str:
    if node.op == "placeholder":
        return "in"
    if node.op != "call_function":
        return "const" if node.op == "get_attr" else node.op
    if isinstance(node.target, OpOverload):
        return node.target._schema.name.split("::")[-1]
    if is_region(node):
        return region_kinds[node.target].words(*region_parts(node)[0]).split("(")[0]
    return str(getattr(node.target, "__name__", "call"))


def target_name(target: Any) -> str:
    if isinstance(target, OpOverload):
        name = str(target).removesuffix(".default")
        return name.removeprefix("aten.") if target.namespace == "aten" else name
    if isinstance(target, HigherOrderOperator):
        return target.name()
    if target is operator.getitem:
        return "item"
    return f"sym.{getattr(target, '__name__', str(target))}"


def value_type(val: Any) -> str:
    if isinstance(val, torch.Tensor):
        return tensor_type(val)
    if isinstance(val, torch.SymInt | torch.SymFloat | torch.SymBool):
        return f"sym({val.node.expr})"
    if isinstance(val, tuple | list):
        return f"({', '.join(value_type(item) for item in val)})"
    return "none" if val is None else type(val).__name__


def tensor_type(val: torch.Tensor) -> str:
    dtype = SHORT_DTYPES.get(val.dtype, str(val.dtype).removeprefix("torch."))
    text = f"{dtype}[{', '.join(map(str, val.shape))}]"
    if val.layout is not torch.strided:
        return f"{text} {str(val.layout).removeprefix('torch.')}"
    if not _is_contiguous(val.shape, val.stride()):
        text += f" strides({', '.join(map(str, val.stride()))})"
    return text if val.device.type == "cpu" else f"{text} {val.device}"


def _is_contiguous(shape: Iterable[Any], strides: Iterable[Any]) -> bool:
    """Compares sizes as written, so that printing adds no guard on a symbol."""
    expected: Any = 1
    for size, stride in reversed(list(zip(shape, strides))):
        plain = isinstance(size, int)
        if plain and size == 0:
            return True
        if not (plain and size == 1) and str(stride) != str(expected):
            return False
        expected = expected * size
    return True


def digest(tensor: torch.Tensor) -> str:
    """A digest of the bytes in row-major order; stable between runs and machines."""
    with _disable_current_modes():
        flat = tensor.detach().contiguous().reshape(-1)
        data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    return hashlib.sha256(data).hexdigest()[:12]


def _argument(value: Any, names: dict[Node, str]) -> str:
    if isinstance(value, Node):
        return f"@{value.target}" if is_reference(value) else names[value]
    if isinstance(value, tuple | list):
        return f"[{', '.join(_argument(item, names) for item in value)}]"
    if isinstance(value, slice):
        return f"slice({_argument([value.start, value.stop, value.step], names)[1:-1]})"
    if isinstance(value, torch.dtype):
        return SHORT_DTYPES.get(value, str(value))
    return str(value) if isinstance(value, torch.device) else repr(value)


def _range(known: SymbolRange) -> str:
    return f"{known.lower}..{'' if known.upper is None else known.upper}"


def _outputs(program: Program, names: dict[Node, str]) -> str:
    parts = []
    for value, spec in zip(output_values(program.graph), program.signature.outputs):
        text = _argument(value, names)
        if spec.target is not None:
            text = f"{text} -> %in{spec.target}"
        if spec.is_input is not None:
            text = f"{text} (is %in{spec.is_input})"
        elif spec.is_output is not None:
            text = f"{text} (is output {spec.is_output})"
        elif spec.alias_of is not None:
            text = f"{text} (shares %in{spec.alias_of})"
        parts.append(text)
    return f"  return {', '.join(parts)}".rstrip()


def _returned(graph: Graph, names: dict[Node, str]) -> str:
    return f"  return {', '.join(_argument(v, names) for v in output_values(graph))}".rstrip()


def _subgraphs(module: GraphModule) -> list[tuple[str, GraphModule]]:
    """The graphs that control flow refers to, nested ones included, in the order of reference;
    regions print theirs in place."""
    found = []
    for node in module.graph.nodes:
        if node.op != "get_attr":
            continue
        inner = module.get_submodule(node.target) if "val" not in node.meta else None
        if isinstance(inner, GraphModule):
            found += [] if any(map(is_region, node.users)) else [(node.target, inner)]
            found += [(f"{node.target}.{name}", graph) for name, graph in _subgraphs(inner)]
    return found
