"""The signature and calling convention of a program, as JSON and back. The reader checks every
index, name, dtype and shape against the graph and the tensors of the same file.
"""

from __future__ import annotations

from typing import Any, get_args

import torch
from torch import Tensor
from torch.fx import Graph, Node

from ingot.artifact.arguments import ArgumentReader, ValueWriter
from ingot.artifact.symbol_ranges import SymbolReader
from ingot.artifact.trees import TreeReader, TreeWriter
from ingot.document import Part
from ingot.program.graph import output_values, placeholders
from ingot.program.program import (
    Assumption,
    CallSpec,
    Fixed,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    Signature,
)

_INPUTS: dict[str, InputKind] = {kind: kind for kind in get_args(InputKind)}
_OUTPUTS: dict[str, OutputKind] = {kind: kind for kind in get_args(OutputKind)}
_ASSUMES: dict[str, Assumption] = {kind: kind for kind in get_args(Assumption)}
_OWN = ("parameter", "buffer", "constant")


def encode_signature(signature: Signature) -> dict[str, Any]:
    inputs = [{"name": s.name, "kind": s.kind, "target": s.target} for s in signature.inputs]
    outputs = [
        {
            "kind": s.kind,
            "target": s.target,
            "alias_of": s.alias_of,
            "is_input": s.is_input,
            "is_output": s.is_output,
            "tracked": s.tracked,
        }
        for s in signature.outputs
    ]
    return {"inputs": inputs, "outputs": outputs}


def encode_calling(calling: CallSpec, values: ValueWriter, trees: TreeWriter) -> dict[str, Any]:
    return {
        "in": trees.encode(calling.in_spec),
        "out": trees.encode(calling.out_spec),
        "arguments": [
            {"fixed": values.encode(a.value)} if isinstance(a, Fixed) else a
            for a in calling.arguments
        ],
        "assumes": sorted(calling.assumes),
        "plain": sorted(calling.plain),
    }


class SignatureReader:
    def __init__(
        self, graph: Graph, tensors: dict[str, Tensor], symbols: SymbolReader, is_whole: bool
    ):
        """`is_whole`: the graph has the values of its outputs."""
        self._is_whole = is_whole
        self._inputs = placeholders(graph)
        self._results = output_values(graph)
        self._tensors = tensors
        self._values = ArgumentReader(symbols)
        self._trees = TreeReader(self._values)
        self._kinds: list[InputKind] = []
        self._users = 0
        self.state: dict[str, Tensor] = {}
        """The module's own tensors that an input refers to."""

    def signature(self, inputs: Part, outputs: Part) -> Signature:
        rows = inputs.items(len(self._inputs))
        given = tuple(self._input(row, node) for row, node in zip(rows, self._inputs))
        self._kinds = [spec.kind for spec in given]
        if unused := set(self._tensors) - set(self.state):
            inputs.fail(f"no input refers to the tensor {sorted(unused)[0]!a}")
        rows = outputs.items(len(self._results))
        pairs = zip(rows, self._results)
        made = tuple(self._output(k, row, value) for k, (row, value) in enumerate(pairs))
        self._users = sum(spec.kind == "user" for spec in made)
        return Signature(given, made)

    def _input(self, row: Part, node: Node) -> InputSpec:
        fields = row.fields("name", "kind", "target")
        kind = fields["kind"].choice(_INPUTS, "kind of input")
        if fields["name"].name() != node.name:
            fields["name"].fail(f"the graph has the input {node.name} here")
        val = node.meta["val"]
        if not isinstance(val, Tensor | int | float | torch.SymInt | torch.SymFloat):
            row.fail("the graph has neither a tensor nor a number here")
        if isinstance(val, Tensor) == (kind == "symbol"):
            fields["kind"].fail("the graph says otherwise")
        if kind not in _OWN:
            if fields["target"].value is not None:
                fields["target"].fail(f"a {kind} input is none of the module's tensors")
            return InputSpec(node.name, kind, None)
        target = fields["target"].text()
        if target not in self._tensors:
            fields["target"].fail("no such tensor")
        tensor = self._tensors[target]
        if not isinstance(val, Tensor) or not _fits(tensor, val):
            fields["target"].fail(
                f"the tensor is {tensor.dtype}{list(tensor.shape)} with strides "
                f"{list(tensor.stride())}, which is not what the graph's {node.name} is"
            )
        self.state[target] = tensor
        return InputSpec(node.name, kind, target)

    def _output(self, number: int, row: Part, value: Any) -> OutputSpec:
        fields = row.fields("kind", "target", "alias_of", "is_input", "is_output", "tracked")
        kind = fields["kind"].choice(_OUTPUTS, "kind of output")
        target, alias, own = (self._index(fields[k]) for k in ("target", "alias_of", "is_input"))
        other = None
        if fields["is_output"].value is not None:
            other = fields["is_output"].integer(0, max(number - 1, 0))
        if (target is None) != (kind == "user"):
            fields["target"].fail(
                f"a {kind} output {'needs a' if target is None else 'has no'} target"
            )
        if number == 0 and other is not None:
            fields["is_output"].fail("no output comes before")
        if kind != "user" and (alias, own, other) != (None, None, None):
            fields["alias_of"].fail(f"a {kind} output has a target instead")
        if kind == "gradient" and self._is_whole:
            self._check_gradient(row, value, target)
        return OutputSpec(kind, target, alias, own, other, fields["tracked"].boolean())

    def _index(self, part: Part) -> int | None:
        if part.value is None:
            return None
        index = part.integer(0, len(self._inputs) - 1)
        if self._kinds[index] == "symbol":
            part.fail(f"input {index} is no tensor")
        return index

    def _check_gradient(self, row: Part, value: Any, target: int | None) -> None:
        assert target is not None
        new = value.meta.get("val") if isinstance(value, Node) else None
        old = self._inputs[target].meta["val"]
        if not isinstance(new, Tensor) or new.dim() != old.dim() or new.dtype != old.dtype:
            row.fail(f"it is not a gradient of input {target}")

    def calling(self, part: Part) -> CallSpec:
        fields = part.fields("in", "out", "arguments", "assumes", "plain")
        in_spec, out_spec = self._trees.decode(fields["in"]), self._trees.decode(fields["out"])
        if in_spec.type is not tuple or [c.type for c in in_spec.children()] != [tuple, dict]:
            fields["in"].fail("expected a tuple of positional arguments and a dict of keywords")
        if not all(isinstance(name, str) for name in in_spec.child(1).context):
            fields["in"].fail("a keyword is not text")
        arguments = tuple(self._argument(a) for a in fields["arguments"].items(in_spec.num_leaves))
        self._check_arguments(fields["arguments"], arguments)
        if out_spec.num_leaves != self._users:
            fields["out"].fail(f"{out_spec.num_leaves} leaves for {self._users} outputs")
        assumes = frozenset(a.choice(_ASSUMES, "assumption") for a in fields["assumes"].items())
        plain = frozenset(self._plain(p, arguments) for p in fields["plain"].items())
        return CallSpec(in_spec, out_spec, arguments, assumes, plain)

    def _argument(self, part: Part) -> int | Fixed:
        if isinstance(part.value, dict):
            return Fixed(self._values.constant(part.fields("fixed")["fixed"]))
        return part.integer(0, len(self._inputs) - 1)

    def _check_arguments(self, part: Part, arguments: tuple[int | Fixed, ...]) -> None:
        """Each user input is given exactly once."""
        given = [a for a in arguments if not isinstance(a, Fixed)]
        wanted = [i for i, kind in enumerate(self._kinds) if kind not in _OWN]
        if sorted(given) != wanted:
            part.fail(f"they give the inputs {sorted(given)[:20]}, the user's are {wanted[:20]}")

    def _plain(self, part: Part, arguments: tuple[int | Fixed, ...]) -> int:
        leaf = part.integer(0, len(arguments) - 1)
        argument = arguments[leaf]
        if isinstance(argument, Fixed) or self._kinds[argument] != "user":
            part.fail(f"argument {leaf} is no tensor")
        return leaf


def _fits(tensor: Tensor, val: Tensor) -> bool:
    sizes = list(val.shape)
    if tensor.dtype != val.dtype or not all(isinstance(n, int) for n in (*sizes, *val.stride())):
        return False
    if list(tensor.shape) != sizes:
        return False
    strides = zip(sizes, tensor.stride(), val.stride())
    return tensor.numel() < 2 or all(size == 1 or a == b for size, a, b in strides)
