"""Complex numbers as pairs of reals, for dialects without complex types. Each op on complex values
is traced as arithmetic on their two parts (`pair_rules.py`). A complex input, weight or result
becomes a real one whose last dimension, of size two, holds the parts; PyTorch's memory layout is
the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import map_arg
from torch.utils import _pytree as pytree

from ingot.emit.pair_rules import PAIR_RULES, Pair
from ingot.passes.base import Pass, ProgramDraft
from ingot.program.graph import fake_mode, output_node, output_values, placeholders

aten = torch.ops.aten

PAIRS = "ingot_pairs"
"""Key of an input's meta that marks it as pairs."""


def is_complex(value: Any) -> bool:
    val = value.meta.get("val") if isinstance(value, Node) else None
    return isinstance(val, torch.Tensor) and val.dtype.is_complex


def touches_complex(node: Node) -> bool:
    return is_complex(node) or any(map(is_complex, node.all_input_nodes))


def has_pair_form(node: Node) -> bool:
    return node.op != "call_function" or node.target in PAIR_RULES


def as_pairs(node: Node, value: Any) -> Any:
    """The value for this input, as pairs if the input is marked so."""
    return torch.view_as_real(value.resolve_conj()) if PAIRS in node.meta else value


@dataclass(frozen=True)
class Pairs(Pass):
    """Does nothing if an op has no form as pairs; the check then reports that op."""

    name: ClassVar[str] = "pairs"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        nodes = [n for n in draft.graph.nodes if n.op != "output" and touches_complex(n)]
        if not nodes or not all(map(has_pair_form, nodes)):
            return []
        mode = fake_mode(draft.graph)
        parts: dict[Node, Pair] = {}
        for node in nodes:
            if node.op == "placeholder":
                parts[node] = _input_parts(draft, node)
            elif node.op == "get_attr":
                parts[node] = _constant_parts(draft, node, mode)
            else:
                _take_apart(draft, node, parts, mode)
        end = output_node(draft.graph)
        values = [
            _joined(draft, end, parts[v]) if v in parts else v for v in output_values(draft.graph)
        ]
        end.args = (tuple(values),)
        for node in placeholders(draft.graph):
            if node in parts:
                node.meta = {**node.meta, PAIRS: True, "val": torch.view_as_real(node.meta["val"])}
        draft.graph.eliminate_dead_code()
        return [f"complex values as pairs: {len(nodes)}"]


def _input_parts(draft: ProgramDraft, node: Node) -> Pair:
    """Selects the parts; the input is marked as pairs once all ops are decomposed."""
    val = torch.view_as_real(node.meta["val"])
    after = next(n for n in draft.graph.nodes if n.op != "placeholder")
    sides = [draft.call(after, aten.select.int, (node, -1, i), val.select(-1, i)) for i in range(2)]
    for side in sides:
        side.meta = {**node.meta, "val": side.meta["val"]}
    return Pair(*sides)


def _constant_parts(draft: ProgramDraft, node: Node, mode: Any) -> Pair:
    tensor = draft.constants[str(node.target)]
    sides = []
    for side in (tensor.real.clone(), tensor.imag.clone()):
        made = draft.add_constant(node, side)
        made.meta["val"] = mode.from_tensor(side, static_shapes=True)
        sides.append(made)
    return Pair(*sides)


def _joined(draft: ProgramDraft, before: Node, pair: Pair) -> Node:
    vals = [pair.re.meta["val"], pair.im.meta["val"]]
    return draft.call(before, aten.stack.default, ([pair.re, pair.im], -1), torch.stack(vals, -1))


def _take_apart(draft: ProgramDraft, node: Node, parts: dict[Node, Pair], mode: Any) -> None:
    """Trace the op on the parts of its operands and copy the trace in front of it."""
    inputs: list[Node] = []
    for source in node.all_input_nodes:
        inputs += [parts[source].re, parts[source].im] if is_complex(source) else [source]
    rule = PAIR_RULES[node.target]

    def apply(*values: Any) -> tuple[Any, ...]:
        known = dict(zip(inputs, values))

        def value(source: Node) -> Any:
            if not is_complex(source):
                return known[source]
            return Pair(known[parts[source].re], known[parts[source].im])

        args, kwargs = pytree.tree_map_only(Node, value, (tuple(node.args), dict(node.kwargs)))
        made = rule(node.target, *args, **kwargs)
        return (made.re, made.im) if isinstance(made, Pair) else (made,)

    vals = [_detached(source.meta["val"]) for source in inputs]
    with torch.no_grad(), enable_python_dispatcher(), mode:
        traced = make_fx(apply)(*vals)
    results = _inlined(draft, node, inputs, traced, mode)
    if is_complex(node):
        parts[node] = Pair(*results)
    else:
        node.replace_all_uses_with(results[0], propagate_meta=False)


def _detached(val: Any) -> Any:
    return val.detach() if isinstance(val, torch.Tensor) else val


def _inlined(
    draft: ProgramDraft, node: Node, inputs: Sequence[Node], traced: GraphModule, mode: Any
) -> list[Node]:
    known: dict[Node, Any] = dict(zip(placeholders(traced.graph), inputs))
    for inner in traced.graph.nodes:
        if inner.op == "get_attr":
            constant = getattr(traced, str(inner.target))
            known[inner] = draft.add_constant(node, constant)
            known[inner].meta["val"] = mode.from_tensor(constant, static_shapes=True)
        elif inner.op == "call_function":
            args, kwargs = map_arg((inner.args, inner.kwargs), known.__getitem__)
            known[inner] = draft.call(node, inner.target, args, inner.meta.get("val"), **kwargs)
    return [known[value] for value in output_values(traced.graph)]
