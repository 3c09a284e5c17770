"""Select native LSTM layers: replace oneDNN's layer op by our own where a kernel exists. The
matmuls of all steps' inputs with their weights become one matmul before the layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.fx import Node

from ingot.ops.kernel_shapes import GATES, padded_units, why_not_dtype
from ingot.passes.base import Pass, ProgramDraft
from ingot.passes.frozen import freeze, frozen_values
from ingot.passes.normalize import val
from ingot.program.graph import is_item
from ingot.program.native_ops import lstm
from ingot.program.shapes import arguments_of

aten = torch.ops.aten
LAYER = aten.mkldnn_rnn_layer.default
LSTM_MODE = 2
OUTPUTS = 3
END = 2**63 - 1


@dataclass(frozen=True)
class Recur(Pass):
    name: ClassVar[str] = "recur"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        frozen = frozen_values(draft)
        found = [node for node in draft.graph.nodes if node.target is LAYER]
        taken = [node for node in found if why_not_native(node) is None]
        for node in taken:
            _Writer(draft, node, frozen).write()
        return [f"recurrent layers as native code: {len(taken)}"] if taken else []


_FORMS = {
    "bidirectional": "it runs in both directions",
    "batch_first": "its batch comes first",
    "train": "it is in training mode",
    "batch_sizes": "its sequences are packed",
}


def why_not_native(node: Node) -> str | None:
    """Why the pass leaves a layer to oneDNN; None if it would not."""
    given = arguments_of(node)
    if given["mode"] != LSTM_MODE:
        return "it is no LSTM"
    for name, reason in _FORMS.items():
        if given[name]:
            return reason
    if given["num_layers"] != 1:
        return f"it has {given['num_layers']} layers"
    if not any(isinstance(size, int) for size in val(given["input"]).shape[:2]):
        return "its sequence length and its batch size are both symbolic"
    if not all(is_item(user) and user.args[1] < OUTPUTS for user in node.users):  # type: ignore[operator]
        return "its workspace is read, as a backward does"
    weights = [given[f"weight{k}"] for k in range(4 if given["has_biases"] else 2)]
    dtypes = {val(n).dtype for n in (given["input"], given["hx_"], given["cx_"], *weights)}
    if len(dtypes) > 1:
        return "its operands differ in dtype"
    return why_not_dtype(*dtypes)


@dataclass(frozen=True)
class _Writer:
    """Inserts calls before the layer."""

    draft: ProgramDraft
    before: Node
    frozen: set[Node]

    def call(self, target: Any, *args: Any) -> Node:
        known = torch.fx.node.map_arg(args, lambda n: n.meta["val"])
        return self.draft.call(self.before, target, args, target(*known))

    def write(self) -> None:
        given = arguments_of(self.before)
        steps, batch, inner = val(given["input"]).shape
        units = int(given["hidden_size"])
        padding = padded_units(units, val(given["input"]).dtype) - units
        weight = self._padded(given["weight0"], units, padding)
        rows = self.call(aten.view.default, given["input"], [-1, inner])
        turned = self.call(aten.t.default, weight)
        if given["has_biases"]:
            sums = self.call(aten.add.Tensor, given["weight2"], given["weight3"])
            bias = self._padded(sums, units, padding)
            gates = self.call(aten.addmm.default, bias, rows, turned)
        else:
            gates = self.call(aten.mm.default, rows, turned)
        known = [-1, batch] if isinstance(batch, int) else [steps, -1]
        gates = self.call(aten.view.default, gates, [*known, GATES * (units + padding)])
        hidden, cell = (self.call(aten.select.int, given[n], 0, 0) for n in ("hx_", "cx_"))
        backward = bool(given["reverse"])
        out = self.call(lstm, gates, given["weight1"], hidden, cell, backward)
        self._results(out, backward)

    def _padded(self, weight: Node, units: int, padding: int) -> Node:
        """Pad each gate of (4 · units, …) with zeros; computed once if the weights are frozen."""
        made = weight
        if padding:
            rest = list(val(weight).shape[1:])
            parts = self.call(aten.view.default, weight, [GATES, units, *rest])
            edges = [0, 0] * len(rest) + [0, padding]
            parts = self.call(aten.constant_pad_nd.default, parts, edges)
            made = self.call(aten.view.default, parts, [GATES * (units + padding), *rest])
        if all(root in self.frozen for root in _roots(made)):
            freeze(made)
        return made

    def _results(self, out: Node, backward: bool) -> None:
        """Replace the layer's results: all hidden states, the last one, the last cell state."""
        hidden = (0, 1) if backward else (-2, -1)
        for user in list(self.before.users):
            if user.args[1] == 0:
                result = self.call(aten.slice.Tensor, out, 0, 0, -1)
            else:
                edges = hidden if user.args[1] == 1 else (-1, END)
                state = self.call(aten.slice.Tensor, out, 0, *edges)
                result = self.call(aten.clone.default, state)
            self.draft.swap(user, result)
        self.draft.graph.erase_node(self.before)


def _roots(node: Node) -> set[Node]:
    """The inputs it is computed from."""
    if node.op != "call_function":
        return {node}
    return {root for source in node.all_input_nodes for root in _roots(source)}
