"""Channels-last between convolutions. Comes in: a core program with convolutions; goes out: the
same, in which the values from the first convolution on lie with their channels innermost, as long
as every op on the way keeps that. Views of such images, and what is computed of those, lie as
PyTorch would lay them out then: the rows of a sequence that a convolution begins with, for one, are
whole again. Copies stand where such a region is entered and left; inputs and outputs keep their
strides. What holds: every meta["val"] has the strides PyTorch itself would give. It pays where the
weights are packed beforehand, since oneDNN otherwise reorders them in each call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch._ops import OpOverload
from torch._prims_common import is_contiguous_or_false
from torch.fx import Node
from torch.fx.node import map_arg

from ingot.passes.base import Pass, ProgramDraft, args_of
from ingot.passes.convolution_call import call_of
from ingot.passes.frozen import frozen_values
from ingot.passes.images import IMAGE_DIMS, Images, channels_last, is_channels_last
from ingot.passes.normalize import val
from ingot.program.graph import is_item, same_numbers
from ingot.program.shapes import Size, same_size, size_of

aten = torch.ops.aten

_LIQUID = frozenset(
    {
        aten.max_pool2d_with_indices.default,
        aten.avg_pool2d.default,
        aten._adaptive_avg_pool2d.default,
        aten.upsample_nearest2d.default,
        aten.upsample_bilinear2d.default,
        aten.constant_pad_nd.default,
        aten.cat.default,
    }
)
"""Ops that are not pointwise and hand on the strides of their inputs."""

_INDIFFERENT = frozenset(
    {aten.sum.dim_IntList, aten.amax.default, aten.amin.default, aten.sym_size.int}
)
"""Ops that read any strides and whose result has strides of its own."""

_PRODUCTS = frozenset({aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default})
_VIEWS = frozenset(
    {
        aten.permute.default,
        aten.transpose.int,
        aten.view.default,
        aten.unsqueeze.default,
        aten.squeeze.dims,
    }
)


@dataclass(frozen=True)
class Layout(Pass):
    name: ClassVar[str] = "layout"

    def rewrite(self, draft: ProgramDraft) -> list[str]:
        nodes = [n for n in draft.graph.nodes if n.target is aten.convolution.default]
        images, frozen = [node for node in nodes if _is_image(node)], frozen_values(draft)
        # A single one is worth the two copies only if it is native.
        if not images or (len(images) == 1 and not call_of(images[0]).is_native(frozen)):
            return []
        sweep = _Sweep(draft, frozen)
        for node in list(draft.graph.nodes):
            sweep.visit(node)
        return [f"values channels-last: {len(sweep.turned)}", f"copies: {sweep.copies}"]


@dataclass
class _Sweep:
    """One walk in program order."""

    draft: ProgramDraft
    frozen: set[Node]
    turned: set[Node] = field(default_factory=set)
    """The values that are channels-last now and were not."""
    moved: set[Node] = field(default_factory=set)
    """Others that lie otherwise than they did."""
    entered: dict[Node, Node] = field(default_factory=dict)
    left: dict[Node, Node] = field(default_factory=dict)
    before: dict[Node, Any] = field(default_factory=dict)
    """What was known of a value that lies otherwise now."""
    copies: int = 0

    def visit(self, node: Node) -> None:
        if node.op == "output":
            self._leave(node)
        elif node.op != "call_function":
            return
        elif self._is_convolution(node):
            self._leave(node, self.moved)
            if not call_of(node).reads_any_layout(self.frozen):
                self._enter(node, args_of(node)[0])
            self._lay_out(node)
        elif is_pointwise(node) and self._has_turned_input(node) and _is_restorable(val(node)):
            self._leave(node, self.moved)
            for source in node.all_input_nodes:
                if _is_image(source) and same_numbers(val(source).shape, val(node).shape):
                    self._enter(node, source)
            self._lay_out(node)
        elif self._hands_on(node):
            self._turn(node)
        elif self._follows(node):
            self._move(node)
        elif node.target not in _INDIFFERENT:
            self._leave(node)

    def _is_convolution(self, node: Node) -> bool:
        """Between images that are contiguous as yet; in another form than the plain one of two
        dimensions only if it is native."""
        if node.target is not aten.convolution.default or not _is_image(node):
            return False
        if not val(node).is_contiguous() or val(node).device.type != "cpu":
            return False
        call = call_of(node)
        plain = not call.transposed and len(call.stride) == 2
        return plain or call.is_native(self.frozen)

    def _has_turned_input(self, node: Node) -> bool:
        return _is_image(node) and any(
            source in self.turned and same_numbers(val(source).shape, val(node).shape)
            for source in node.all_input_nodes
        )

    def _hands_on(self, node: Node) -> bool:
        if is_item(node):
            return args_of(node)[0] in self.before
        if node.target not in _LIQUID or not _is_restorable(val(node)):
            return False
        return all(source in self.turned for source in node.all_input_nodes if _is_image(source))

    def _follows(self, node: Node) -> bool:
        """May it lie as its inputs do now? Views that a caller could see may not: what shares
        memory with what stays."""
        sources = [n for n in node.all_input_nodes if n in self.turned or n in self.moved]
        if not sources or not isinstance(val(node), torch.Tensor) or not _has_numbers(val(node)):
            return False
        if _order(val(node)) is None:
            return False
        if node.target in _VIEWS:
            return node not in self.draft.escaping and node not in self.draft.stored
        joins = node.target is aten.cat.default or is_pointwise(node)
        return joins and all(source in self.moved for source in sources)

    def _move(self, node: Node) -> None:
        """As PyTorch lays it out now, if it can."""
        before = val(node)
        args, kwargs = map_arg((node.args, node.kwargs), lambda source: source.meta["val"])
        try:
            now = node.target(*args, **kwargs)  # type: ignore[operator]
        except (RuntimeError, ValueError):  # a view of what does not lie in its order any more
            self._leave(node)
            return
        if now.stride() == before.stride():
            node.meta["val"] = now
            return
        self.before[node], node.meta["val"] = before, now
        (self.turned if _is_image(node) and is_channels_last(now) else self.moved).add(node)

    def _lay_out(self, node: Node) -> None:
        """An op that keeps, or is made to keep, the layout of its images."""
        self.turned.add(node)
        laid_out = channels_last(val(node), val(node).shape)
        # Strides, not the layout: where a size is one, several strides are the same layout.
        if not same_numbers(laid_out.stride(), val(node).stride()):
            self.before[node] = node.meta["val"]
            node.meta["val"] = laid_out

    def _turn(self, node: Node) -> None:
        """What PyTorch makes of the op on its inputs as they lie now."""
        self.before[node] = node.meta["val"]
        args, kwargs = map_arg((node.args, node.kwargs), lambda source: source.meta["val"])
        node.meta["val"] = node.target(*args, **kwargs)  # type: ignore[operator]
        if _is_image(node) and is_channels_last(val(node)):
            self.turned.add(node)

    def _enter(self, node: Node, source: Node) -> None:
        if source in self.turned or is_channels_last(val(source)):
            return
        if source not in self.entered:
            self.entered[source] = Images(self.draft, node).laid_out(source)
            self.turned.add(self.entered[source])
            self.copies += 1
        node.replace_input_with(source, self.entered[source])

    def _leave(self, node: Node, only: set[Node] | None = None) -> None:
        """`node` gets what it reads as that lay before."""
        if only is None and node.target in _PRODUCTS:
            only = self.turned
        for source in node.all_input_nodes:
            if source not in self.before or (only is not None and source not in only):
                continue
            if source not in self.left:
                self.left[source] = self._restored(node, source)
                self.copies += 1
            node.replace_input_with(source, self.left[source])

    def _restored(self, node: Node, source: Node) -> Node:
        before = self.before[source]
        if is_contiguous_or_false(before):
            return self.draft.call(
                node, aten.clone.default, (source,), before, memory_format=torch.contiguous_format
            )
        order = _order(before)
        assert order is not None
        images = Images(self.draft, node)
        copied = images.copied(images.call(aten.permute.default, source, order))
        back = [order.index(dim) for dim in range(before.dim())]
        return images.call(aten.permute.default, copied, back)


def _order(value: torch.Tensor) -> list[int] | None:
    """The dimensions from the outermost in, of a tensor that lies as a contiguous one does whose
    dimensions were exchanged; None of any other. Symbols are not asked for their values."""
    shape, strides = ([size_of(n) for n in ns] for ns in (value.shape, value.stride()))
    order: list[int] = []
    step: Size = 1
    while len(order) < value.dim():
        left = [dim for dim in range(value.dim()) if dim not in order]
        fitting = [dim for dim in left if same_size(strides[dim], step)]
        if not fitting:
            return None
        inner = next((dim for dim in reversed(fitting) if shape[dim] == 1), fitting[-1])
        order.insert(0, inner)
        step = step * shape[inner]
    return order


def _is_restorable(value: Any) -> bool:
    """Can a copy be laid out like this again? Of several values, each."""
    if not isinstance(value, torch.Tensor):
        return all(_is_restorable(item) for item in value)
    return is_contiguous_or_false(value) or _order(value) is not None


def _has_numbers(value: torch.Tensor) -> bool:
    """No symbols: what PyTorch is asked of it puts no guard on any."""
    return all(isinstance(number, int) for number in (*value.shape, *value.stride()))


def is_pointwise(node: Node) -> bool:
    return isinstance(node.target, OpOverload) and torch.Tag.pointwise in node.target.tags


def _is_image(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dim() in IMAGE_DIMS
