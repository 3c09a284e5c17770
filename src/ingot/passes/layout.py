"""Channels-last propagation between convolutions. From the first convolution on, values are
channels-last as long as every op on the way preserves that. Views of such images, and values
computed from those, get the strides that PyTorch would then give them: the rows of a sequence that
starts with a convolution, for example, are contiguous again. Copies are inserted where such a
region is entered and left; inputs and outputs keep their strides. Every meta["val"] has the strides
that PyTorch itself would give. The pass pays off with packed weights, which oneDNN otherwise
reorders in each call.
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
"""Ops that are not pointwise and propagate the strides of their inputs."""

_INDIFFERENT = frozenset(
    {aten.sum.dim_IntList, aten.amax.default, aten.amin.default, aten.sym_size.int}
)
"""Ops that accept any strides and determine the strides of their result themselves."""

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
        # A single convolution is worth the two copies only if it is native.
        if not images or (len(images) == 1 and not call_of(images[0]).is_native(frozen)):
            return []
        sweep = _Sweep(draft, frozen)
        for node in list(draft.graph.nodes):
            sweep.visit(node)
        return [f"values channels-last: {len(sweep.turned)}", f"copies: {sweep.copies}"]


@dataclass
class _Sweep:
    """A single walk in program order."""

    draft: ProgramDraft
    frozen: set[Node]
    turned: set[Node] = field(default_factory=set)
    """Values that are channels-last now and were not before."""
    moved: set[Node] = field(default_factory=set)
    """Other values whose layout changed."""
    entered: dict[Node, Node] = field(default_factory=dict)
    left: dict[Node, Node] = field(default_factory=dict)
    before: dict[Node, Any] = field(default_factory=dict)
    """The metadata of a value before its layout changed."""
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
        """Whether this is a convolution of contiguous images that the pass converts: a plain 2-d
        one, or any form that is native."""
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
        """Whether the node may take the layout its inputs have now. Views that a caller can see may
        not: the aliasing of outputs must not change."""
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
        """Give the node the layout that PyTorch computes from its inputs' new layout, if it accepts
        them."""
        before = val(node)
        args, kwargs = map_arg((node.args, node.kwargs), lambda source: source.meta["val"])
        try:
            now = node.target(*args, **kwargs)  # type: ignore[operator]
        except (RuntimeError, ValueError):  # a view that the new strides do not allow
            self._leave(node)
            return
        if now.stride() == before.stride():
            node.meta["val"] = now
            return
        self.before[node], node.meta["val"] = before, now
        (self.turned if _is_image(node) and is_channels_last(now) else self.moved).add(node)

    def _lay_out(self, node: Node) -> None:
        """Make the result of an op channels-last that keeps, or is made to keep, its images'
        layout."""
        self.turned.add(node)
        laid_out = channels_last(val(node), val(node).shape)
        # Compare strides, not layouts: if a size is one, several strides are the same layout.
        if not same_numbers(laid_out.stride(), val(node).stride()):
            self.before[node] = node.meta["val"]
            node.meta["val"] = laid_out

    def _turn(self, node: Node) -> None:
        """Recompute the result's layout from the inputs' new layout. PyTorch's kernel for padding
        would fix the symbols in an image's sizes."""
        before = self.before[node] = node.meta["val"]
        if _is_image(node) and not is_item(node) and not _has_numbers(before):
            node.meta["val"] = channels_last(before, before.shape)
            self.turned.add(node)
            return
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
        """Restore the previous layout of the values that `node` reads."""
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
    """The dimensions from the outermost in, if the tensor is a permuted contiguous one; else None.
    Adds no guards on symbols."""
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
    """Whether a copy can restore this layout; for several values, whether it can for each."""
    if not isinstance(value, torch.Tensor):
        return all(_is_restorable(item) for item in value)
    return is_contiguous_or_false(value) or _order(value) is not None


def _has_numbers(value: torch.Tensor) -> bool:
    """Whether sizes and strides are ints: querying PyTorch then adds no guards."""
    return all(isinstance(number, int) for number in (*value.shape, *value.stride()))


def is_pointwise(node: Node) -> bool:
    return isinstance(node.target, OpOverload) and torch.Tag.pointwise in node.target.tags


def _is_image(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dim() in IMAGE_DIMS
